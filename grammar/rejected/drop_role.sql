-- error: PARSE_SYNTAX_ERROR at 1:9: a role's name
DROP ROLE
