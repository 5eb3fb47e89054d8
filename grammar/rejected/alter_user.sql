-- error: PARSE_SYNTAX_ERROR at 1:15: DISABLE, ENABLE, RESET or SET
ALTER USER ann DROP;
-- error: PARSE_SYNTAX_ERROR at 1:35: The limit rows_most is written twice.
ALTER USER ann SET (rows_most = 1, ROWS_MOST = 2);
-- error: PARSE_SYNTAX_ERROR at 1:20: a limit's name
ALTER USER ann SET ();
-- error: PARSE_SYNTAX_ERROR at 1:21: ALL or '('
ALTER USER ann RESET rows_most
