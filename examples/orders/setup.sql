-- The tables. ${servers} is where the broker is; the topics are there already.

SET TIME ZONE 'UTC';

-- What comes in. A message that is no order goes into the table broken_orders, with the reason. An order may come two
-- minutes after others that were placed later; what comes after that is too late for the totals.
CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10,2), ts TIMESTAMP) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = '${servers}',
  'topic' = 'orders',
  'value.format' = 'json',
  'key.columns' = 'id',
  'watermark' = 'ts DELAY OF INTERVAL 2 MINUTES',
  'on.error' = 'table:broken_orders'
);

-- The same topic for the job that must not wait: it passes over what is no order.
CREATE TABLE orders_now (id BIGINT, customer STRING, amount DECIMAL(10,2), ts TIMESTAMP) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = '${servers}',
  'topic' = 'orders',
  'value.format' = 'json',
  'on.error' = 'skip'
);

-- What goes out: the newest message of a key is the newest total of a customer in a minute. The topic is compacted.
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
