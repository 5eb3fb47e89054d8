-- A source that makes its own rows: batch n of a job reads the numbers from n * ${rows} on, ${rows} of them. So what a
-- table must hold follows from the number of the newest batch, and need not be asked of anything that ran here.
CREATE TABLE numbers USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '${rows}');

CREATE TABLE kept (value BIGINT, digit INT) USING parquet;
CREATE TABLE totals (digit INT, numbers BIGINT, total BIGINT) USING parquet;
