-- error: PARSE_SYNTAX_ERROR at 1:7: Did you mean JOB?
CREATE JOBS j AS INSERT INTO t SELECT 1

-- error: PARSE_SYNTAX_ERROR at 1:13: Expected AS, COMMENT, OPTIONS, START_MODE or '(', found 'INSERT'
CREATE JOB j INSERT INTO t SELECT 1

-- error: PARSE_SYNTAX_ERROR at 2:3: AS was taken as the name
CREATE JOB
AS INSERT INTO t SELECT 1

-- error: PARSE_SYNTAX_ERROR at 1:22: cannot be combined
CREATE OR REPLACE JOB IF NOT EXISTS j AS INSERT INTO t SELECT 1

-- error: UNSUPPORTED_BODY at 1:15: found the end of the statement
CREATE JOB j AS

-- error: UNSUPPORTED_BODY at 1:15: A job needs a body after AS
CREATE JOB j AS;

-- error: PARSE_SYNTAX_ERROR at 1:0: Did you mean CREATE OR REPLACE?
REPLACE JOB j AS INSERT INTO t SELECT 1

-- error: PARSE_SYNTAX_ERROR at 1:10: Expected IF or a name for the job, found the end of the statement
CREATE JOB

-- error: PARSE_SYNTAX_ERROR at 2:0: one statement at a time
CREATE JOB j AS INSERT INTO t SELECT 1;
SHOW JOBS

-- error: PARSE_SYNTAX_ERROR at 1:21: Expected a text in quotes
CREATE JOB j COMMENT AS INSERT INTO t SELECT 1
