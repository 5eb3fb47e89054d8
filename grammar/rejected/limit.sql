-- error: PARSE_SYNTAX_ERROR at 1:32: a whole number
ALTER USER ann SET (rows_most = 'many');
-- error: PARSE_SYNTAX_ERROR at 1:30: =
ALTER USER ann SET (rows_most 5);
