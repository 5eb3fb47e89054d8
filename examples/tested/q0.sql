-- Pass every bid through.
CREATE TABLE q0 (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, extra STRING) USING parquet;
CREATE JOB q0 AS
INSERT INTO q0
SELECT auction, bidder, price, dateTime, extra FROM bid;
