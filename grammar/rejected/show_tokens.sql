-- error: PARSE_SYNTAX_ERROR at 1:15: a user's name
SHOW TOKENS FOR
