-- The orders of each customer in each minute. In output mode update every change of a total is written, not only the
-- final one, and exactly once: consumers with isolation level read_committed see no change twice, whatever fails.
-- An order without an amount counts as an order.
CREATE JOB totals
COMMENT 'orders and their sum by customer and minute'
OPTIONS ('snapshotIntervalMillis' = '500', 'outputMode' = 'update')
AS SINK INTO totals
SELECT coalesce(customer, '(unknown)'), window(ts, '1 minute').start, count(*), coalesce(sum(amount), 0)
FROM STREAM orders
GROUP BY coalesce(customer, '(unknown)'), window(ts, '1 minute');

-- Large orders, immediately: with the trigger realTime a row does not wait for the end of a micro-batch. _timestamp is
-- the time at which the order was sent.
CREATE JOB alerts
COMMENT 'orders of 950 and more, as they arrive'
OPTIONS ('trigger' = 'realTime', 'snapshotIntervalMillis' = '5000')
AS INSERT INTO alerts
SELECT id, customer, amount, _timestamp
FROM STREAM orders_now
WHERE amount >= 950;
