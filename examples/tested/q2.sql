-- Select the bids of some auctions.
CREATE TABLE q2 (auction BIGINT, price BIGINT) USING parquet;
CREATE JOB q2 AS
INSERT INTO q2
SELECT auction, price FROM bid WHERE auction % 123 = 0;
