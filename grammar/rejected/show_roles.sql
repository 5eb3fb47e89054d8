-- error: PARSE_SYNTAX_ERROR at 1:11: found 'FOR'
SHOW ROLES FOR ann
