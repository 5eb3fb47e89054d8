-- Find the persons of three states who sell in category 10.
CREATE TABLE q3 (name STRING, city STRING, state STRING, id BIGINT) USING parquet;
CREATE JOB q3 AS
INSERT INTO q3
SELECT p.name, p.city, p.state, a.id
FROM auction a JOIN person p ON p.id = a.seller
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
