-- The sources of Nexmark's queries, with event times that may be 4 seconds late.
CREATE TABLE persons (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, dateTime TIMESTAMP,
  extra STRING
) USING json;
CREATE TABLE auctions (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING
) USING json;
CREATE TABLE bids (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING
) USING json;
CREATE VIEW person AS SELECT * FROM STREAM persons WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS;
CREATE VIEW auction AS SELECT * FROM STREAM auctions WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS;
CREATE VIEW bid AS SELECT * FROM STREAM bids WATERMARK dateTime DELAY OF INTERVAL 4 SECONDS;
-- For joins that the end of an auction bounds, which is no column of a watermark: the state keeps all rows.
CREATE VIEW auction_without_watermark AS SELECT * FROM STREAM auctions;
CREATE VIEW bid_without_watermark AS SELECT * FROM STREAM bids;
