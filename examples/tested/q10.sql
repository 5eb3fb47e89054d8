-- Write every bid to the partition of its minute.
CREATE TABLE q10 (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, extra STRING, dt STRING,
  hm STRING) USING parquet PARTITIONED BY (dt, hm);
CREATE JOB q10 AS
INSERT INTO q10
SELECT auction, bidder, price, dateTime, extra,
  date_format(dateTime, 'yyyy-MM-dd') AS dt, date_format(dateTime, 'HH:mm') AS hm
FROM bid;
