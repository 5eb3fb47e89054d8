-- Find the auctions with the most bids of the last 10 seconds, every 2 seconds.
CREATE TABLE q5 (auction BIGINT, num BIGINT) USING parquet;
CREATE JOB q5 AS
INSERT INTO q5
SELECT counted.auction, counted.num
FROM (
  SELECT auction, count(*) AS num, window.start AS starttime, window.end AS endtime
  FROM bid GROUP BY auction, window(dateTime, '10 seconds', '2 seconds')
) counted
JOIN (
  SELECT max(num) AS maxn, starttime, endtime
  FROM (
    SELECT count(*) AS num, window.start AS starttime, window.end AS endtime
    FROM bid GROUP BY auction, window(dateTime, '10 seconds', '2 seconds')
  )
  GROUP BY starttime, endtime
) most
ON counted.starttime = most.starttime AND counted.endtime = most.endtime AND counted.num >= most.maxn;
