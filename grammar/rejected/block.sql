-- error: JOB_IN_BLOCK at 2:2: outside the block
BEGIN
  SUSPEND JOB j;
END

-- error: JOB_IN_BLOCK at 1:20: outside the block
BEGIN IF a > 1 THEN CREATE JOB j AS INSERT INTO t SELECT 1; END IF; END

-- error: JOB_IN_BLOCK at 1:25: outside the block
BEGIN SELECT 1; l: BEGIN SHOW JOBS; END l; END
