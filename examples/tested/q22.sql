-- Take the folders out of the URL of each bid.
CREATE TABLE q22 (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, dir1 STRING, dir2 STRING,
  dir3 STRING) USING parquet;
CREATE JOB q22 AS
INSERT INTO q22
SELECT auction, bidder, price, channel,
  split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3
FROM bid;
