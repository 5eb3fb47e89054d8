CREATE JOB late_flights AS INSERT INTO delays SELECT * FROM STREAM flights WHERE dep_delay > 15;
CREATE OR REPLACE JOB late_flights AS INSERT INTO delays SELECT 1;
create job if not exists `late flights` as sink into delays select 1;
CREATE /* a job */ JOB -- named
  j AS -- with a body
  INSERT INTO t SELECT 1; -- and an end
CREATE JOB job AS INSERT INTO t SELECT 1;
CREATE JOB if AS INSERT INTO t SELECT 1;
CREATE JOB as AS INSERT INTO t SELECT 1;
CREATE JOB IF NOT EXISTS if AS INSERT INTO t SELECT 1;
CREATE JOB options OPTIONS ('trigger' = 'availableNow') AS INSERT INTO t SELECT 1;
CREATE JOB `AS` COMMENT 'as' OPTIONS ('a' = 'b', 'c' = 'd') AS INSERT INTO t SELECT 1;
CREATE JOB größe AS INSERT INTO t SELECT 1;
CREATE JOB 航班 AS INSERT INTO t SELECT 1;
