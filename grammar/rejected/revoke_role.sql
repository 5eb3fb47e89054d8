-- error: PARSE_SYNTAX_ERROR at 1:16: Expected FROM
REVOKE analysts TO ann
