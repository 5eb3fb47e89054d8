-- The tables. ${servers} is the address of the broker; the topics exist already.

SET TIME ZONE 'UTC';

-- The input. A message that is not an order goes to the table broken_orders, with the reason. An order may arrive up to
-- two minutes after orders that were placed later; after that it is too late for the totals.
CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10,2), ts TIMESTAMP) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = '${servers}',
  'topic' = 'orders',
  'value.format' = 'json',
  'key.columns' = 'id',
  'watermark' = 'ts DELAY OF INTERVAL 2 MINUTES',
  'on.error' = 'table:broken_orders'
);

-- The same topic for the job in real time, which skips messages that are not orders.
CREATE TABLE orders_now (id BIGINT, customer STRING, amount DECIMAL(10,2), ts TIMESTAMP) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = '${servers}',
  'topic' = 'orders',
  'value.format' = 'json',
  'on.error' = 'skip'
);

-- The output. The newest message of a key is the current total of a customer in a minute; the topic is compacted.
CREATE TABLE totals (customer STRING, minute TIMESTAMP, orders BIGINT, total DECIMAL(12,2)) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = '${servers}',
  'topic' = 'totals',
  'value.format' = 'json',
  'key.columns' = 'customer,minute'
);

CREATE TABLE alerts (id BIGINT, customer STRING, amount DECIMAL(10,2), sent TIMESTAMP) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = '${servers}',
  'topic' = 'alerts',
  'value.format' = 'json',
  'key.columns' = 'id'
);
