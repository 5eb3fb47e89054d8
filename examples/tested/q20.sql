-- Add the auction to each bid on category 10.
CREATE TABLE q20 (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, bid_dateTime TIMESTAMP, bid_extra STRING,
  itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, auction_dateTime TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT, auction_extra STRING
) USING parquet;
CREATE JOB q20 AS
INSERT INTO q20
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bid_dateTime, b.extra AS bid_extra,
  a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.seller, a.category,
  a.extra AS auction_extra
FROM bid b JOIN auction a ON a.id = b.auction
WHERE a.category = 10;
