-- error: PARSE_SYNTAX_ERROR at 1:5: Did you mean ENGINES?
SHOW ENGINE

-- error: PARSE_SYNTAX_ERROR at 1:13: the end of the statement
SHOW ENGINES LIKE 'a'
