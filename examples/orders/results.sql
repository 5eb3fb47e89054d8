-- The newest total of each customer and minute, summed by customer.
SELECT customer, sum(orders) AS orders, sum(total) AS total, count(*) AS minutes, sum(updates) AS messages
FROM (
  SELECT customer, minute, max_by(orders, _offset) AS orders, max_by(total, _offset) AS total, count(*) AS updates
  FROM totals
  GROUP BY customer, minute
)
GROUP BY customer
ORDER BY total DESC, customer
LIMIT 7;

-- The broken messages by reason.
SELECT reason, count(*) AS messages, decode(min_by(value, offset), 'UTF-8') AS for_example
FROM broken_orders
GROUP BY reason
ORDER BY messages DESC, reason;

-- The milliseconds from sending a large order to sending its alert. An order that arrives at the end of a micro-batch
-- (every five seconds here, every minute by default) waits for the next one.
SELECT
  count(*) AS alerts,
  min(late) AS fastest_ms,
  round(percentile(late, 0.5)) AS median_ms,
  round(percentile(late, 0.9)) AS nine_of_ten_ms
FROM (SELECT unix_millis(_timestamp) - unix_millis(sent) AS late FROM alerts);
