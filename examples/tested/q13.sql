-- Add a value from a bounded table to each bid.
CREATE TABLE side_input (key BIGINT, value STRING) USING parquet;
CREATE TABLE q13 (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, value STRING) USING parquet;
CREATE JOB q13 AS
INSERT INTO q13
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid b JOIN side_input s ON s.key = b.auction % 10000;
