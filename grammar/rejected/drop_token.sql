-- error: PARSE_SYNTAX_ERROR at 1:11: a token's id in quotes
DROP TOKEN a1b2c3d4
