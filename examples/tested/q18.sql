-- Find the newest bid of each bidder on each auction.
CREATE TABLE q18 (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) USING parquet;
CREATE JOB q18 AS
INSERT OVERWRITE TABLE q18
SELECT auction, bidder, price, channel, url, dateTime, extra
FROM (SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS rank_number FROM bid)
WHERE rank_number <= 1;
