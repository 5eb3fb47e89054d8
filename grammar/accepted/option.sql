ALTER JOB j OPTIONS ("a" == "b");
ALTER JOB j OPTIONS ('spark.sql.x' = '');
