-- Find the winning bid of each auction.
CREATE TABLE q9 (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING, auction BIGINT, bidder BIGINT, price BIGINT,
  bid_dateTime TIMESTAMP, bid_extra STRING
) USING parquet;
CREATE JOB q9 AS
INSERT OVERWRITE TABLE q9
SELECT id, itemName, description, initialBid, reserve, dateTime, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra
FROM (
  SELECT a.*, b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra,
    row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) AS rank
  FROM auction_without_watermark a JOIN bid_without_watermark b
  ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
)
WHERE rank <= 1;
