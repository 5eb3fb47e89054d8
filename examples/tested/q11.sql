-- Count the bids of each session of a bidder. A session ends after 10 seconds without a bid.
CREATE TABLE q11 (bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP, endtime TIMESTAMP) USING parquet;
CREATE JOB q11 AS
INSERT INTO q11
SELECT bidder, count(*) AS bid_count, session_window.start AS starttime, session_window.end AS endtime
FROM bid GROUP BY bidder, session_window(dateTime, '10 seconds');
