-- A source that generates its rows: batch n of a job reads ${rows} numbers, beginning with n * ${rows}. The number of the
-- newest batch therefore determines the contents of a table.
CREATE TABLE numbers USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '${rows}');

CREATE TABLE kept (value BIGINT, digit INT) USING parquet;
CREATE TABLE totals (digit INT, numbers BIGINT, total BIGINT) USING parquet;
