-- The tables. ${data} is the folder of the demo's files.

-- Hours and days are in the time zone of New York, where all flights depart. A job keeps the zone of its session.
SET TIME ZONE 'America/New_York';

-- The stream: one JSON file per day, moved into this folder while the jobs run.
CREATE TABLE flights (
  scheduled  TIMESTAMP,  -- scheduled departure, to the minute
  day        DATE,
  carrier    STRING,
  flight     INT,
  tailnum    STRING,
  origin     STRING,
  dest       STRING,
  dep_time   INT,        -- local time as HHMM, such as 1745; NULL if it did not happen
  arr_time   INT,
  dep_delay  INT,        -- minutes, negative if early
  arr_delay  INT,
  air_time   INT,        -- minutes
  distance   INT         -- miles
) USING json LOCATION '${data}/flights';

-- The static tables: names of airlines and airports.
CREATE TABLE airlines (carrier STRING, name STRING) USING json LOCATION '${data}/airlines';
CREATE TABLE airports (faa STRING, name STRING) USING json LOCATION '${data}/airports';

-- The results of the jobs.
CREATE TABLE hourly_delays (
  hour TIMESTAMP, carrier STRING, flights BIGINT, landed BIGINT, late BIGINT, delay_minutes BIGINT
) USING parquet;

CREATE TABLE enriched (
  scheduled TIMESTAMP, day DATE, airline STRING, flight INT, origin STRING, dest STRING, destination STRING,
  dep_delay INT, arr_delay INT, miles_per_hour DOUBLE, month INT
) USING parquet PARTITIONED BY (month);

CREATE TABLE rejected (
  reason STRING, scheduled TIMESTAMP, day DATE, carrier STRING, flight INT, origin STRING, dest STRING
) USING parquet;

CREATE TABLE top_routes (origin STRING, dest STRING, flights BIGINT, miles BIGINT) USING parquet;
