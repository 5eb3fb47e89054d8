-- Four jobs over the same stream. Each reads it independently, at its own pace, with its own checkpoint.

-- Delays by carrier and hour. An hour is written once, when the watermark closes it: after a flight that was scheduled
-- two hours after its end. Flights that did not land count as flights, but not as landed.
CREATE JOB hourly_delays
COMMENT 'delays by carrier and hour of scheduled departure'
OPTIONS ('snapshotIntervalMillis' = '1000')
AS INSERT INTO hourly_delays
SELECT
  window(scheduled, '1 hour').start,
  carrier,
  count(*),
  count(arr_delay),
  count_if(arr_delay > 15),
  coalesce(sum(arr_delay), 0)
FROM STREAM flights WITH ('maxFilesPerTrigger' = '20') WATERMARK scheduled DELAY OF INTERVAL 2 HOURS
GROUP BY window(scheduled, '1 hour'), carrier;

-- Every flight that landed at its destination, with names instead of codes, in a table partitioned by month.
-- Flights to airports that are not in the list (Puerto Rico, the Virgin Islands) are kept, without a name.
CREATE JOB enriched
COMMENT 'landed flights with the names of airlines and airports'
OPTIONS ('snapshotIntervalMillis' = '1000')
AS INSERT INTO enriched BY NAME
SELECT
  scheduled, day, l.name AS airline, flight, origin, dest, p.name AS destination, dep_delay, arr_delay,
  round(distance * 60 / air_time, 1) AS miles_per_hour,
  month(day) AS month
FROM STREAM flights WITH ('maxFilesPerTrigger' = '20') f
JOIN airlines l ON l.carrier = f.carrier
LEFT JOIN airports p ON p.faa = f.dest
WHERE arr_delay IS NOT NULL;

-- All other flights, with the reason.
CREATE JOB rejected
COMMENT 'flights without an arrival delay, by what is missing'
OPTIONS ('snapshotIntervalMillis' = '1000')
AS INSERT INTO rejected
SELECT
  CASE
    WHEN dep_time IS NULL THEN 'no departure'
    WHEN arr_time IS NULL THEN 'departure, but no arrival'
    ELSE 'departure and arrival, but no air time and delay'
  END,
  scheduled, day, carrier, flight, origin, dest
FROM STREAM flights WITH ('maxFilesPerTrigger' = '20')
WHERE arr_delay IS NULL;

-- The ten busiest routes so far. With INSERT OVERWRITE each result replaces the previous one.
CREATE JOB top_routes
COMMENT 'the ten busiest routes so far'
OPTIONS ('snapshotIntervalMillis' = '1000', 'suspendOnFailure' = 'false')
AS INSERT OVERWRITE top_routes
SELECT origin, dest, count(*) AS flights, sum(distance) AS miles
FROM STREAM flights WITH ('maxFilesPerTrigger' = '20')
GROUP BY origin, dest
ORDER BY flights DESC, origin, dest
LIMIT 10;
