-- error: PARSE_SYNTAX_ERROR at 1:16: Expected a job's name
SHOW JOB HISTORY

-- error: PARSE_SYNTAX_ERROR at 1:9: Did you mean HISTORY?
SHOW JOB HISTROY j
