-- error: PARSE_SYNTAX_ERROR at 1:13: Expected
ALTER ALERT a;
-- error: PARSE_SYNTAX_ERROR at 1:14: Expected
ALTER ALERT a ON JOB j
