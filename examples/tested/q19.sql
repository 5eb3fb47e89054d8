-- Find the ten highest bids of each auction.
CREATE TABLE q19 (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING,
  rank_number INT
) USING parquet;
CREATE JOB q19 AS
INSERT OVERWRITE TABLE q19
SELECT *
FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid)
WHERE rank_number <= 10;
