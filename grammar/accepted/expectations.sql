CREATE JOB j (CONSTRAINT positive EXPECT (price > 0)) AS INSERT INTO t SELECT * FROM STREAM s;
create or replace job j (constraint a expect (x), constraint b expect (y) on violation fail) comment 'c' options ('k' = 'v') as insert into t select 1 x, 2 y;
CREATE STREAMING TABLE t (CONSTRAINT a EXPECT (x IS NOT NULL)) JOB OPTIONS ('k' = 'v') USING parquet AS SELECT * FROM STREAM s;
CREATE OR REFRESH MATERIALIZED VIEW s.v (CONSTRAINT a EXPECT (x > 0)) AS SELECT 1 AS x;
CREATE JOB constraint (CONSTRAINT constraint EXPECT (expect)) AS INSERT INTO t SELECT 1;
