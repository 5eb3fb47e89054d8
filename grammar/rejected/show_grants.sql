-- error: PARSE_SYNTAX_ERROR at 1:15: found 's'
SHOW GRANTS ON s.t
