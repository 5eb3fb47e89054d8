CREATE JOB j OPTIONS ('a' = 'b') AS INSERT INTO t SELECT 1;
ALTER JOB j OPTIONS
(
  'a' = 'b', -- one
  'c' = 'd'  -- two
);
