-- What each customer ordered in each minute. With the output mode update every change is written and not only the total of
-- a minute that is over, and each exactly once: readers of what is committed see none twice, whatever dies. An order
-- without an amount counts as an order.
CREATE JOB totals
COMMENT 'orders and their sum by customer and minute'
OPTIONS ('snapshotIntervalMillis' = '500', 'outputMode' = 'update')
AS SINK INTO totals
SELECT coalesce(customer, '(nobody)'), window(ts, '1 minute').start, count(*), coalesce(sum(amount), 0)
FROM STREAM orders
GROUP BY coalesce(customer, '(nobody)'), window(ts, '1 minute');

-- Large orders, at once: with the trigger realTime a row does not wait for a batch. _timestamp is when the order was sent.
CREATE JOB alerts
COMMENT 'orders of 950 and more, as they come'
OPTIONS ('trigger' = 'realTime', 'snapshotIntervalMillis' = '5000')
AS INSERT INTO alerts
SELECT id, customer, amount, _timestamp
FROM STREAM orders_now
WHERE amount >= 950;
