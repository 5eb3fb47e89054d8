-- error: PARSE_SYNTAX_ERROR at 1:0: Did you mean RESUME?
RESUM JOB j

-- error: PARSE_SYNTAX_ERROR at 1:12: found ','
RESUME JOB j, k

-- error: PARSE_SYNTAX_ERROR at 1:12: Did you mean RESUME?
ALTER JOB j RESUMED
