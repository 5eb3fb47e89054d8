-- Find the auctions with the most bids of the last 10 seconds, every 2 seconds.
INSERT INTO q5
SELECT counted.auction, counted.num
FROM (
  SELECT auction, COUNT(*) AS num, window_start AS starttime, window_end AS endtime
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
) counted
JOIN (
  SELECT MAX(num) AS maxn, starttime, endtime
  FROM (
    SELECT COUNT(*) AS num, window_start AS starttime, window_end AS endtime
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  )
  GROUP BY starttime, endtime
) most
ON counted.starttime = most.starttime AND counted.endtime = most.endtime AND counted.num >= most.maxn
