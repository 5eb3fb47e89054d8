-- error: PARSE_SYNTAX_ERROR at 1:11: Expected the end of the text after the semicolon
SHOW JOBS; SHOW JOBS
