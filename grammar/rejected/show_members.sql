-- error: PARSE_SYNTAX_ERROR at 1:5: Did you mean MEMBERS?
SHOW MEMBER

-- error: PARSE_SYNTAX_ERROR at 1:13: the end of the statement
SHOW MEMBERS LIKE 'a'

-- error: PARSE_SYNTAX_ERROR at 1:13: the end of the statement
SHOW MEMBERS FOR JOB j
