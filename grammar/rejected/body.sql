-- error: UNSUPPORTED_BODY at 1:16: A query alone is not a job
CREATE JOB j AS SELECT 1

-- error: UNSUPPORTED_BODY at 1:37: A query alone is not a job
CREATE JOB j AS WITH a AS (SELECT 1) SELECT * FROM a

-- error: UNSUPPORTED_BODY at 1:36: after this WITH there is none
CREATE JOB j AS WITH a AS (SELECT 1)

-- error: UNSUPPORTED_BODY at 2:15: columns of the table come from the query
CREATE JOB j AS
CREATE TABLE t (a INT)

-- error: UNSUPPORTED_BODY at 1:16: found 'MERGE'
CREATE JOB j AS MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE

-- error: UNSUPPORTED_BODY at 1:16: found 'DELETE'
CREATE JOB j AS DELETE FROM t

-- error: UNSUPPORTED_BODY at 1:16: FROM follows the SELECT
CREATE JOB j AS FROM s INSERT INTO t SELECT a

-- error: UNSUPPORTED_BODY at 1:46: A job writes to one table
CREATE JOB j AS FROM s INSERT INTO t SELECT a INSERT INTO u SELECT b

-- error: UNSUPPORTED_BODY at 1:39: Create a job for each table
CREATE JOB j AS INSERT INTO t SELECT a INSERT INTO u SELECT b

-- error: UNSUPPORTED_BODY at 1:30: REPLACE WHERE is not supported
CREATE JOB j AS INSERT INTO t REPLACE WHERE a = 1 SELECT 1

-- error: UNSUPPORTED_BODY at 1:44: needs a query
CREATE JOB j AS CREATE TABLE t USING parquet

-- error: UNSUPPORTED_BODY at 1:16: Write CREATE TABLE table AS SELECT
CREATE JOB j AS CREATE VIEW v AS SELECT 1

-- error: UNSUPPORTED_BODY at 1:28: a table's name
CREATE JOB j AS CREATE TABLE

-- error: UNSUPPORTED_BODY at 1:43: Create a job for each table
CREATE JOB j AS CREATE TABLE t AS SELECT a INSERT INTO u SELECT b

-- error: UNSUPPORTED_BODY at 1:43: inside the body of another one
CREATE JOB j AS CREATE TABLE t AS SELECT a CREATE JOB k AS INSERT INTO u SELECT b

-- error: UNSUPPORTED_QUERY at 1:57: EMIT CHANGES is not a clause of Spark
CREATE JOB j AS CREATE TABLE t AS SELECT a FROM STREAM s EMIT CHANGES

-- error: UNSUPPORTED_BODY at 1:33: cannot write to a directory
CREATE JOB j AS INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT 1

-- error: UNSUPPORTED_BODY at 1:33: cannot write to a directory
CREATE JOB j AS INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' SELECT 1

-- error: UNSUPPORTED_BODY at 1:23: Expected INTO or OVERWRITE
CREATE JOB j AS INSERT t SELECT 1

-- error: UNSUPPORTED_BODY at 1:21: Expected INTO after SINK
CREATE JOB j AS SINK t SELECT 1

-- error: UNSUPPORTED_BODY at 1:21: Expected INTO after SINK
CREATE JOB j AS SINK OVERWRITE t SELECT 1

-- error: UNSUPPORTED_BODY at 1:22: found the end of the statement
CREATE JOB j AS INSERT

-- error: UNSUPPORTED_BODY at 1:27: Expected a table
CREATE JOB j AS INSERT INTO

-- error: UNSUPPORTED_BODY at 1:28: Expected a table
CREATE JOB j AS INSERT INTO 't' SELECT 1

-- error: UNSUPPORTED_BODY at 1:16: Did you mean INSERT?
CREATE JOB j AS INSRT INTO t SELECT 1

-- error: UNSUPPORTED_BODY at 1:16: OPTIONS goes before AS
CREATE JOB j AS OPTIONS ('a' = 'b') INSERT INTO t SELECT 1

-- error: PARAMETER_IN_BODY at 1:56: A parameter marker
CREATE JOB j AS INSERT INTO t SELECT * FROM s WHERE a > :low

-- error: PARAMETER_IN_BODY at 2:10: A parameter marker
CREATE JOB j AS INSERT INTO t SELECT * FROM s
WHERE a > ?

-- error: PARAMETER_IN_BODY at 1:38: A substitution
CREATE JOB j AS INSERT INTO t SELECT '${day}'

-- error: PARAMETER_IN_BODY at 1:55: A substitution
CREATE JOB j AS INSERT INTO t /* ${a} */ SELECT * FROM ${env:table}

-- error: PARSE_SYNTAX_ERROR at 1:37: is not closed
CREATE JOB j AS INSERT INTO t SELECT 'late

-- error: PARSE_SYNTAX_ERROR at 1:30: Close it with */
CREATE JOB j AS INSERT INTO t /* SELECT /* 1 */

-- error: PARSE_SYNTAX_ERROR at 1:40: Expected the end of the text after the semicolon
CREATE JOB j AS INSERT INTO t SELECT 1; DROP TABLE t

-- error: UNSUPPORTED_BODY at 1:47: REPLACE WHERE is not supported
CREATE JOB j AS INSERT INTO t WITH ('a' = 'b') REPLACE WHERE a = 1 SELECT 1

-- error: UNSUPPORTED_BODY at 1:38: REPLACE ON is not supported
CREATE JOB j AS INSERT INTO t BY NAME REPLACE ON t.a = 1 SELECT 1

-- error: UNSUPPORTED_BODY at 1:23: Expected INTO or OVERWRITE after INSERT, found 'WITH'
CREATE JOB j AS INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1

-- error: UNSUPPORTED_BODY at 1:33: cannot write to a directory
CREATE JOB j AS INSERT OVERWRITE DIRECTORY '/tmp/x'

-- error: UNSUPPORTED_BODY at 1:33: cannot write to a directory
CREATE JOB j AS INSERT OVERWRITE DIRECTORY USING parquet OPTIONS (path '/tmp/x') SELECT 1

-- error: UNSUPPORTED_BODY at 1:16: A query alone is not a job
CREATE JOB j AS TABLE s

-- error: UNSUPPORTED_BODY at 1:16: A query alone is not a job
CREATE JOB j AS VALUES (1)

-- error: UNSUPPORTED_BODY at 1:32: REPLACE WHERE is not supported
CREATE JOB j AS INSERT INTO map REPLACE WHERE a = 1 SELECT 1

-- error: UNSUPPORTED_BODY at 1:30: REPLACE USING is not supported
CREATE JOB j AS INSERT INTO t REPLACE USING (a) SELECT 1

-- error: UNSUPPORTED_BODY at 1:16: COMMENT goes before AS
CREATE JOB j AS COMMENT 'x' INSERT INTO t SELECT 1

-- error: UNSUPPORTED_BODY at 1:16: Did you mean INSERT?
CREATE JOB j AS UPSERT INTO t SELECT 1

-- error: UNSUPPORTED_BODY at 1:16: Did you mean SINK?
CREATE JOB j AS SNK INTO t SELECT 1

-- error: UNSUPPORTED_BODY at 1:39: Create a job for each table
CREATE JOB j AS INSERT INTO t SELECT a INSERT OVERWRITE u SELECT b

-- error: UNSUPPORTED_BODY at 1:39: Create a job for each table
CREATE JOB j AS INSERT INTO t SELECT a SINK INTO u SELECT b

-- error: UNSUPPORTED_BODY at 1:16: Did you mean WITH?
CREATE JOB j AS WTIH a AS (SELECT 1) INSERT INTO t SELECT * FROM a
