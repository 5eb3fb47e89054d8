-- Convert the price of every bid from dollars to euros.
CREATE TABLE q1 (auction BIGINT, bidder BIGINT, price DECIMAL(24, 3), dateTime TIMESTAMP, extra STRING) USING parquet;
CREATE JOB q1 AS
INSERT INTO q1
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid;
