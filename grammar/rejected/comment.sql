-- error: PARSE_SYNTAX_ERROR at 1:21: Write it in quotes: 'late'
CREATE JOB j COMMENT late AS INSERT INTO t SELECT 1

-- error: PARSE_SYNTAX_ERROR at 1:33: Expected AS
CREATE JOB j OPTIONS ('a' = 'b') COMMENT 'x' AS INSERT INTO t SELECT 1
