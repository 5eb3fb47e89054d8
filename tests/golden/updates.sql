-- A job gets another version, and what can't be is refused at its place with the job running on.
CREATE SCHEMA updates;
USE updates;
CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10, 2)) USING parquet;
CREATE TABLE totals (customer STRING, n BIGINT, amount DECIMAL(20, 2)) USING parquet;
INSERT INTO orders VALUES (1, 'Ada', 10.00), (2, 'Grace', 20.50);
CREATE JOB totals OPTIONS ('snapshotIntervalMillis' = '100') AS
INSERT OVERWRITE totals SELECT customer, count(*), sum(amount) FROM STREAM orders GROUP BY customer;
CREATE OR REPLACE JOB totals OPTIONS ('snapshotIntervalMillis' = '100') AS
INSERT OVERWRITE totals SELECT customer, count(*), sum(amount) FROM STREAM orders GROUP BY customer;

CREATE OR REPLACE JOB totals AS
INSERT OVERWRITE totals SELECT upper(customer), count(*), sum(amount) FROM STREAM orders GROUP BY 1;
CREATE OR REPLACE JOB totals OPTIONS ('initialSnapshotName' = 'friday') AS
INSERT OVERWRITE totals SELECT customer, count(*), sum(amount) FROM STREAM orders GROUP BY customer;
CREATE JOB again OPTIONS ('initialSnapshotName' = 'friday') AS
INSERT OVERWRITE totals SELECT customer, count(*), sum(amount) FROM STREAM orders GROUP BY customer;
DROP SNAPSHOT friday;
DROP SNAPSHOT IF EXISTS friday;
CREATE SNAPSHOT friday FOR JOB total;

-- The state is kept: what was counted before stays counted, and the filter holds for what comes.
SUSPEND JOB totals;
INSERT INTO orders VALUES (3, 'Ada', 5.00), (4, 'Edsger', -1.00);
CREATE OR REPLACE JOB totals OPTIONS ('snapshotIntervalMillis' = '100') AS
INSERT OVERWRITE totals SELECT customer, count(*), sum(amount) FROM STREAM orders WHERE amount > 0 GROUP BY customer;
SELECT * FROM totals ORDER BY customer;
DROP JOB totals;
DROP SCHEMA updates CASCADE;
