-- Count the bids of each bidder in windows of processing time.
CREATE TABLE q12 (bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP, endtime TIMESTAMP) USING parquet;
CREATE JOB q12 AS
INSERT OVERWRITE TABLE q12
SELECT bidder, count(*) AS bid_count, window.start AS starttime, window.end AS endtime
FROM (SELECT bidder, current_timestamp() AS p_time FROM bid)
GROUP BY bidder, window(p_time, '10 seconds');
