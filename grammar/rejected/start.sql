-- error: PARSE_SYNTAX_ERROR at 1:11: Expected the end of the statement behind the semicolon
SHOW JOBS; SHOW JOBS
