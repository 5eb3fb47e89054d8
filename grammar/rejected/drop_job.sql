-- error: PARSE_SYNTAX_ERROR at 1:12: Did you mean EXISTS?
DROP JOB IF EXIST j

-- error: PARSE_SYNTAX_ERROR at 1:16: Expected SNAPSHOT
DROP JOB j WITH s

-- error: PARSE_SYNTAX_ERROR at 1:18: Expected a job's name
DROP JOB IF EXISTS

-- error: PARSE_SYNTAX_ERROR at 1:0: Did you mean DROP?
CANCEL JOB j

-- error: PARSE_SYNTAX_ERROR at 1:5: Did you mean JOB?
DROP JBO j

-- error: INVALID_NAME at 1:25: Write `s`
DROP JOB j WITH SNAPSHOT 's'
