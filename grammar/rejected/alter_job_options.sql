-- error: PARSE_SYNTAX_ERROR at 1:32: RESUME
ALTER JOB j OPTIONS ('a' = 'b') SUSPEND

-- error: PARSE_SYNTAX_ERROR at 1:12: OPTIONS, RESTART, RESUME or SUSPEND
ALTER JOB j SET OPTIONS ('a' = 'b')

-- error: PARSE_SYNTAX_ERROR at 1:11: found the end of the statement
ALTER JOB j
