-- Find the highest bid of every 10 seconds.
CREATE TABLE q7 (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, extra STRING) USING parquet;
CREATE JOB q7 AS
INSERT INTO q7
SELECT b.auction, b.bidder, b.price, b.dateTime, b.extra
FROM bid b
JOIN (
  SELECT max(price) AS maxprice, window.end AS dateTime FROM bid GROUP BY window(dateTime, '10 seconds')
) highest
ON b.price = highest.maxprice AND b.dateTime BETWEEN highest.dateTime - INTERVAL 10 SECONDS AND highest.dateTime;
