ALTER USER ann DISABLE;
ALTER USER ann ENABLE;
ALTER USER ann SET (statements_most = 4, rows_most = 100000, statement_seconds = 60);
ALTER USER ann RESET (rows_most);
ALTER USER ann RESET ALL;
