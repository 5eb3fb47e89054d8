-- Find the persons of three states who sell in category 10.
INSERT INTO q3
SELECT p.name, p.city, p.state, a.id
FROM auction a JOIN person p ON p.id = a.seller
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
