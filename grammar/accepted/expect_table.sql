EXPECT TABLE totals AS VALUES (1, 'a'), (2, NULL);
EXPECT TABLE sales.totals (customer, total) AS
SELECT 1, 2.5;
EXPECT TABLE as AS TABLE t;
