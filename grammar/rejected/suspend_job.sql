-- error: PARSE_SYNTAX_ERROR at 1:8: Did you mean JOB?
SUSPEND JOBS j

-- error: PARSE_SYNTAX_ERROR at 1:8: Expected JOB, found 'j'
SUSPEND j

-- error: PARSE_SYNTAX_ERROR at 1:11: Expected a job's name
SUSPEND JOB

-- error: PARSE_SYNTAX_ERROR at 1:14: Expected the end of the statement, found 'now'
SUSPEND JOB j now

-- error: PARSE_SYNTAX_ERROR at 1:12: Did you mean SUSPEND?
ALTER JOB j PAUSE

-- error: PARSE_SYNTAX_ERROR at 1:0: Did you mean SUSPEND?
PAUSE JOB j

-- error: PARSE_SYNTAX_ERROR at 1:17: SUSPEND was taken as the name
ALTER JOB SUSPEND

-- error: PARSE_SYNTAX_ERROR at 1:0: Did you mean SUSPEND?
SUSPND JOB j
