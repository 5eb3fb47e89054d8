-- Tables that statements create from their query, with a job of their own or of the table's name.
CREATE SCHEMA made;
USE made;
CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10, 2)) USING parquet;
INSERT INTO orders VALUES (1, 'Ada', 10.00), (2, 'Grace', 20.50);
CREATE JOB big OPTIONS ('snapshotIntervalMillis' = '100') AS
CREATE TABLE big USING json PARTITIONED BY (customer) COMMENT 'large orders'
AS SELECT customer, id, amount AS total FROM STREAM orders WHERE amount > 15;
SELECT * FROM big;
DESCRIBE big;
SUSPEND JOB big;
RESUME JOB big;
SHOW CREATE JOB big;

-- Nothing is left of a job that cannot be created.
CREATE JOB bad AS CREATE TABLE bad AS SELECT no_such_column FROM STREAM orders;
CREATE JOB bad AS CREATE TABLE bad PARTITIONED BY (nothing) AS SELECT id FROM STREAM orders;
CREATE JOB bad AS CREATE TABLE bad USING nonsense AS SELECT id FROM STREAM orders;
CREATE JOB bad OPTIONS ('trigger' = 'sometimes') AS CREATE TABLE bad AS SELECT id FROM STREAM orders;
CREATE JOB bad AS CREATE TABLE bad CLUSTERED BY (id) INTO 4 BUCKETS AS SELECT id FROM STREAM orders;
CREATE JOB bad AS CREATE TABLE bad AS SELECT raise_error('broken') AS e FROM STREAM orders;
CREATE JOB big2 AS CREATE TABLE big AS SELECT id FROM STREAM orders;
CREATE JOB big2 AS CREATE TABLE IF NOT EXISTS big AS SELECT id FROM STREAM orders;
CREATE JOB big2 OPTIONS ('trigger' = 'availableNow') AS CREATE TABLE IF NOT EXISTS big PARTITIONED BY (customer)
AS SELECT 'none' AS customer, id, amount AS total FROM STREAM orders WHERE id = 1;
SELECT * FROM big ORDER BY id;
EXPLAIN CREATE JOB topic AS CREATE TABLE topic USING kafka
OPTIONS ('kafka.bootstrap.servers' = '127.0.0.1:1', 'topic' = 't', 'value.format' = 'json')
AS SELECT customer, count(*) AS n FROM STREAM orders GROUP BY customer;
SHOW TABLES;

-- A table and a job of its name.
CREATE STREAMING TABLE totals JOB OPTIONS ('snapshotIntervalMillis' = '100')
AS SELECT customer, count(*) AS n, sum(amount) AS amount FROM STREAM orders GROUP BY customer;
CREATE STREAMING TABLE totals AS SELECT id FROM STREAM orders;
CREATE STREAMING TABLE IF NOT EXISTS totals AS SELECT id FROM STREAM orders;
INSERT INTO orders VALUES (3, 'Ada', 1.00);
REFRESH STREAMING TABLE totals;
SELECT * FROM totals ORDER BY customer;
SHOW STREAMING TABLES;
SHOW CREATE TABLE totals;
CREATE OR REFRESH STREAMING TABLE totals JOB OPTIONS ('snapshotIntervalMillis' = '100')
AS SELECT customer, count(*) AS n, sum(amount) AS amount FROM STREAM orders GROUP BY customer;
CREATE OR REFRESH STREAMING TABLE totals JOB OPTIONS ('snapshotIntervalMillis' = '100')
AS SELECT customer, count(*) AS n, sum(amount) AS amount FROM STREAM orders WHERE amount > 0 GROUP BY customer;
ALTER STREAMING TABLE totals SUSPEND;
ALTER STREAMING TABLE totals JOB OPTIONS ('snapshotIntervalMillis' = '200');
ALTER STREAMING TABLE totals RESUME;
ALTER TABLE totals RENAME TO sums;
REFRESH MATERIALIZED VIEW totals;
DROP STREAMING TABLE orders;
DROP STREAMING TABLE nothing;
DROP TABLE totals;
SHOW STREAMING TABLES;
SHOW JOBS;

-- A materialized view of tables is computed when it is created and when it is refreshed.
CREATE MATERIALIZED VIEW best AS SELECT customer, max(amount) AS best FROM orders GROUP BY customer;
SELECT * FROM best ORDER BY customer;
INSERT INTO orders VALUES (4, 'Ada', 99.00);
REFRESH MATERIALIZED VIEW best;
SELECT * FROM best ORDER BY customer;
CREATE OR REFRESH MATERIALIZED VIEW best AS SELECT customer, max(amount) AS best FROM orders GROUP BY customer;
CREATE OR REFRESH MATERIALIZED VIEW best AS SELECT customer, min(amount) AS best FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW IF NOT EXISTS best AS SELECT customer, min(amount) AS best FROM orders GROUP BY customer;
SELECT * FROM best ORDER BY customer;
SHOW MATERIALIZED VIEWS LIKE 'best';
DROP MATERIALIZED VIEW best;
SHOW MATERIALIZED VIEWS LIKE 'best';
DROP MATERIALIZED VIEW IF EXISTS best;

-- The table stays when only the job is dropped.
CREATE STREAMING TABLE kept AS SELECT id FROM STREAM orders;
DROP JOB `made.kept`;
SELECT count(*) FROM kept;
REFRESH STREAMING TABLE kept;
DROP TABLE kept;
SHOW TABLES;
DROP JOB big;
DROP SCHEMA made CASCADE;
