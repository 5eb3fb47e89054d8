ALTER USER ann SET (statements_most = 4);
ALTER USER ann SET (rows_most = 0, statement_seconds = 60);
