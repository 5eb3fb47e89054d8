-- Find the persons who open an auction within the 10 seconds in which they appear.
CREATE TABLE q8 (id BIGINT, name STRING, starttime TIMESTAMP) USING parquet;
CREATE JOB q8 AS
INSERT INTO q8
SELECT p.id, p.name, p.starttime
FROM (
  SELECT id, name, window.start AS starttime, window.end AS endtime
  FROM person GROUP BY id, name, window(dateTime, '10 seconds')
) p
JOIN (
  SELECT seller, window.start AS starttime, window.end AS endtime
  FROM auction GROUP BY seller, window(dateTime, '10 seconds')
) a
ON p.id = a.seller AND p.starttime = a.starttime AND p.endtime = a.endtime;
