-- Combine each bid with its bidder, and with every auction that the bidder has opened.
CREATE TABLE q23 (
  bidder BIGINT, price BIGINT, channel STRING, url STRING, bid_extra STRING, person_id BIGINT, name STRING,
  emailAddress STRING, creditCard STRING, city STRING, state STRING, person_extra STRING, itemName STRING,
  description STRING, initialBid BIGINT, reserve BIGINT, auction_dateTime TIMESTAMP, expires TIMESTAMP,
  seller BIGINT, category BIGINT, auction_extra STRING
) USING parquet;
CREATE JOB q23 AS
INSERT INTO q23
SELECT b.bidder, b.price, b.channel, b.url, b.extra AS bid_extra,
  p.id AS person_id, p.name, p.emailAddress, p.creditCard, p.city, p.state, p.extra AS person_extra,
  a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.seller, a.category,
  a.extra AS auction_extra
FROM bid b
JOIN person p ON p.id = b.bidder
JOIN auction a ON a.seller = b.bidder;
