-- Two jobs over the same source, each with its own batches.

-- Every number exactly once.
CREATE JOB kept
COMMENT 'every number, with its last digit'
OPTIONS ('snapshotIntervalMillis' = '500')
AS INSERT INTO kept SELECT value, CAST(value % 10 AS INT) FROM STREAM numbers;

-- An aggregate, whose state is in the executors' state stores and in the checkpoint.
CREATE JOB totals
COMMENT 'how many numbers end in each digit, and their sum'
OPTIONS ('snapshotIntervalMillis' = '500')
AS INSERT OVERWRITE totals
SELECT CAST(value % 10 AS INT) AS digit, count(*) AS numbers, sum(value) AS total
FROM STREAM numbers
GROUP BY CAST(value % 10 AS INT);
