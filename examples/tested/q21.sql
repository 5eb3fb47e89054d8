-- Find the id of each bid's channel. `regexp_extract` returns '' where other systems return NULL.
CREATE TABLE q21 (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, channel_id STRING) USING parquet;
CREATE JOB q21 AS
INSERT INTO q21
SELECT auction, bidder, price, channel,
  CASE lower(channel)
    WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
    ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')
  END AS channel_id
FROM bid
WHERE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') IS NOT NULL
  OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');
