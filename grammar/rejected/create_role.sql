-- error: PARSE_SYNTAX_ERROR at 1:11: a name for the role
CREATE ROLE
