-- error: PARSE_SYNTAX_ERROR at 1:15: Expected a job's name
SHOW CREATE JOB

-- error: PARSE_SYNTAX_ERROR at 1:12: Did you mean JOB?
SHOW CREATE JOBS j
