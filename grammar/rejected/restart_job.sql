-- error: PARSE_SYNTAX_ERROR at 1:7: Expected JOB, found the end of the statement
RESTART

-- error: PARSE_SYNTAX_ERROR at 1:6: Did you mean JOB?
ALTER JOBS j RESTART

-- error: PARSE_SYNTAX_ERROR at 1:8: Expected JOB
RESTART SNAPSHOT s
