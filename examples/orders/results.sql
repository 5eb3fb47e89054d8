-- The newest totals of each customer and minute, summed up.
SELECT customer, sum(orders) AS orders, sum(total) AS total, count(*) AS minutes, sum(updates) AS messages
FROM (
  SELECT customer, minute, max_by(orders, _offset) AS orders, max_by(total, _offset) AS total, count(*) AS updates
  FROM totals
  GROUP BY customer, minute
)
GROUP BY customer
ORDER BY total DESC, customer
LIMIT 7;

-- What was no order, by reason.
SELECT reason, count(*) AS messages, decode(min_by(value, offset), 'UTF-8') AS for_example
FROM broken_orders
GROUP BY reason
ORDER BY messages DESC, reason;

-- Milliseconds from when a large order was sent to when its alert was. What comes at the end of a batch, which is every
-- five seconds here and every minute by default, waits for the next one.
SELECT
  count(*) AS alerts,
  min(late) AS fastest_ms,
  round(percentile(late, 0.5)) AS median_ms,
  round(percentile(late, 0.9)) AS nine_of_ten_ms
FROM (SELECT unix_millis(_timestamp) - unix_millis(sent) AS late FROM alerts);
