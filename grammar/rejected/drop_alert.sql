-- error: PARSE_SYNTAX_ERROR at 1:10: Expected
DROP ALERT
