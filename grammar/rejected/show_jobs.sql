-- error: PARSE_SYNTAX_ERROR at 1:9: DESCRIBE JOB shows one
SHOW JOB j

-- error: PARSE_SYNTAX_ERROR at 1:15: Write it in quotes: 'late'
SHOW JOBS LIKE late

-- error: PARSE_SYNTAX_ERROR at 1:10: Expected LIKE or the end of the statement
SHOW JOBS 'late*'

-- error: PARSE_SYNTAX_ERROR at 1:9: Did you mean JOBS?
SHOW ALL JOB
