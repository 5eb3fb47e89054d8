-- The tables. ${data} is the folder in which the example lays out its files.

-- Hours and days are those of New York, where all these flights begin. Jobs keep the zone of the session that makes them.
SET TIME ZONE 'America/New_York';

-- What arrives: one JSON file a day, moved into this folder while the jobs run.
CREATE TABLE flights (
  scheduled  TIMESTAMP,  -- scheduled departure, to the minute
  day        DATE,
  carrier    STRING,
  flight     INT,
  tailnum    STRING,
  origin     STRING,
  dest       STRING,
  dep_time   INT,        -- clock readings as 1745; missing when it did not happen
  arr_time   INT,
  dep_delay  INT,        -- minutes, negative when early
  arr_delay  INT,
  air_time   INT,        -- minutes
  distance   INT         -- miles
) USING json LOCATION '${data}/flights';

-- What stands still: names of airlines and airports.
CREATE TABLE airlines (carrier STRING, name STRING) USING json LOCATION '${data}/airlines';
CREATE TABLE airports (faa STRING, name STRING) USING json LOCATION '${data}/airports';

-- What the jobs make of it.
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
