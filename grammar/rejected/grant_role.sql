-- error: PARSE_SYNTAX_ERROR at 1:17: the name of a user or a role
GRANT analysts TO
