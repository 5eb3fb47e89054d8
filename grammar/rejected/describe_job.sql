-- error: PARSE_SYNTAX_ERROR at 1:15: Expected the end of the statement
DESCRIBE JOB j k

-- error: INVALID_NAME at 1:13: belong to no schema
DESCRIBE JOB a.b

-- error: PARSE_SYNTAX_ERROR at 1:23: found 'j'
DESCRIBE JOB FORMATTED j
