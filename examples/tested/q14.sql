-- Select, convert and classify bids, with a function of the user's own.
CREATE FUNCTION count_char(text STRING, letter STRING) RETURNS INT
RETURN length(text) - length(replace(text, letter, ''));
CREATE TABLE q14 (
  auction BIGINT, bidder BIGINT, price DECIMAL(24, 3), bidTimeType STRING, dateTime TIMESTAMP, extra STRING,
  c_counts INT
) USING parquet;
CREATE JOB q14 AS
INSERT INTO q14
SELECT auction, bidder, 0.908 * price AS price,
  CASE
    WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
    WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bidTimeType,
  dateTime, extra, count_char(extra, 'c') AS c_counts
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
