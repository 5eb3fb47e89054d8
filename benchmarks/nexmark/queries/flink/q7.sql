-- Find the highest bid of every 10 seconds.
INSERT INTO q7
SELECT b.auction, b.bidder, b.price, b.dateTime, b.extra
FROM bid b
JOIN (
  SELECT MAX(price) AS maxprice, window_end AS dateTime
  FROM TABLE(
    TUMBLE(
      TABLE bid,
      DESCRIPTOR(dateTime),
      INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) highest
ON b.price = highest.maxprice AND b.dateTime BETWEEN highest.dateTime - INTERVAL '10' SECOND AND highest.dateTime
