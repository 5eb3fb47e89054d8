-- What the engine knows, as tables: columns with their meaning, rows of now, and no way to change them.
CREATE SCHEMA relations;
USE relations;
CREATE TABLE orders (id BIGINT, amount DECIMAL(10, 2)) USING parquet;
CREATE TABLE large (id BIGINT, amount DECIMAL(10, 2)) USING parquet;
INSERT INTO orders VALUES (1, 10.00), (2, 2000.50);
CREATE JOB golden_large COMMENT 'for the morning''s list' OPTIONS ('snapshotIntervalMillis' = '100') AS
INSERT INTO large SELECT * FROM STREAM orders WHERE amount > 1000;

SHOW TABLES IN jetsql;
DESCRIBE jetsql.jobs;
DESCRIBE jetsql.snapshots;
DESCRIBE jetsql.job_history;
DESCRIBE jetsql.members;
DESCRIBE jetsql.metrics;

CREATE VIEW mine AS SELECT * FROM jetsql.jobs WHERE name LIKE 'golden%' AND end_time IS NULL;
SELECT id, name, status, comment, sources, sink, trigger, interval_millis FROM mine;
SELECT m.job, m.run, m.batch, m.span, m.batches, m.input_rows, m.output_rows
FROM jetsql.metrics m JOIN mine ON m.job_id = mine.id;
SUSPEND JOB golden_large;
SELECT name, status FROM mine;
SELECT h.event, h.from_status, h.to_status FROM jetsql.job_history h JOIN mine ON h.job_id = mine.id ORDER BY h.time;
CREATE SNAPSHOT golden_friday FOR JOB golden_large;
SELECT id, name, job, batch FROM jetsql.snapshots WHERE name = 'golden_friday';

DELETE FROM jetsql.jobs WHERE name = 'golden_large';
DROP TABLE jetsql.jobs;
SELECT * FROM STREAM jetsql.metrics;
SELECT nmae FROM jetsql.jobs;

DROP SNAPSHOT golden_friday;
DROP JOB golden_large;
SELECT name, status FROM mine;
DROP SCHEMA relations CASCADE;
