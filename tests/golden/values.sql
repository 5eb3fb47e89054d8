-- Values of Spark's types as a table shows them; no job is involved.
SELECT 1 AS one, 'two' AS two, CAST(NULL AS INT) AS nothing, 'NULL' AS text, 1.50BD AS exact, DATE'2013-01-01' AS day;

SELECT array(1, NULL) AS list, named_struct('a', 1, 'b', 'x') AS struct, map('k', X'00FF') AS map, true AS yes;

-- A result without rows, and one text alone.
SELECT * FROM VALUES (1, '${word:-a word}') AS t(id, word) WHERE id > 1;
SET spark.sql.session.timeZone = UTC;
SELECT 'two\nlines' AS text;
