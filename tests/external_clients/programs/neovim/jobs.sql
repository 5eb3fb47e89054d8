CREATE TABLE orders (id INT, amount DOUBLE) USING json;
CREATE TABLE large (id INT) USING json;
CREATE JOB big OPTIONS ('snapshotIntervalMillis' = '500') AS INSERT INTO large select id from STREAM orders where amount > 100;
SUSPND JOB big;
SELECT * FROM large WHERE id = ${day};
RESUME JOB 
