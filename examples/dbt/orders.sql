-- The source of the example: a table of files, to which other programs add orders.
CREATE TABLE IF NOT EXISTS orders (id BIGINT, customer STRING, amount DECIMAL(10,2), at TIMESTAMP) USING json;
INSERT INTO orders VALUES
  (1, 'Ada', 120.00, TIMESTAMP '2026-01-05 09:00:00'),
  (2, 'Grace', 350.50, TIMESTAMP '2026-01-05 09:01:00'),
  (3, 'Ada', 20.00, TIMESTAMP '2026-01-05 09:02:00'),
  (4, 'Edsger', 990.00, TIMESTAMP '2026-01-05 09:03:00');
