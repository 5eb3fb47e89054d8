-- The tables. ${data} is the folder of the demo's files.

-- The stream: one JSON file per day, moved into this folder while the jobs run.
CREATE TABLE flights (
  scheduled  TIMESTAMP,  -- scheduled departure, to the minute
  tailnum    STRING,     -- the aircraft
  flight     INT,
  dest       STRING,
  arr_delay  INT,        -- NULL if the flight did not land at its destination
  distance   INT         -- miles
) USING json LOCATION '${data}/flights';

-- A row for each aircraft: the job updates it with each flight. Delta records all changes of the rows.
CREATE TABLE aircraft (tailnum STRING, airport STRING, since TIMESTAMP, flights BIGINT, miles BIGINT) USING delta
TBLPROPERTIES ('key.columns' = 'tailnum', 'delta.enableChangeDataFeed' = 'true');

-- A row for each airport with aircraft. A row of the job that meets delete.when deletes its airport.
CREATE TABLE airports (airport STRING, aircraft BIGINT) USING delta
TBLPROPERTIES ('key.columns' = 'airport', 'delete.when' = 'aircraft = 0');
