-- error: PARSE_SYNTAX_ERROR at 1:20: a table's name
DROP STREAMING TABLE

-- error: PARSE_SYNTAX_ERROR at 1:23: the end of the statement
DROP STREAMING TABLE t PURGE
