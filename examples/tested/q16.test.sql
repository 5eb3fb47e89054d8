RUN FILE 'nexmark.sql', 'q16.sql';

START TEST the_price_decides_the_rank;
INSERT INTO bids (auction, bidder, price, channel, dateTime) VALUES
  (1, 1, 9999, 'a', TIMESTAMP '2026-01-01 01:00:00'),
  (1, 2, 9999, 'a', TIMESTAMP '2026-01-01 02:00:00'),
  (2, 3, 9999, 'a', TIMESTAMP '2026-01-01 02:00:00'),
  (2, 3, 9998, 'a', TIMESTAMP '2026-01-01 02:00:00'),
  (3, 5, 10000, 'a', TIMESTAMP '2026-01-01 03:00:00'),
  (4, 1, 999999, 'a', TIMESTAMP '2026-01-01 04:00:00'),
  (4, 1, 999999, 'a', TIMESTAMP '2026-01-01 04:00:00'),
  (5, 4, 1000000, 'a', TIMESTAMP '2026-01-01 05:10:00'),
  (6, 6, 1000001, 'a', TIMESTAMP '2026-01-01 05:09:00'),
  (6, 6, 1000001, 'a', TIMESTAMP '2026-01-01 05:09:00');
EXPECT TABLE q16 AS VALUES ('a', '2026-01-01', '05:10', 10, 4, 3, 3, 6, 3, 2, 2, 6, 2, 2, 2);

START TEST channels_and_days_are_counted_apart;
INSERT INTO bids (channel, price, dateTime) VALUES
  ('a', 1, TIMESTAMP '2026-01-01 23:59:59'), ('a', 1, TIMESTAMP '2026-01-02 00:00:00'),
  ('b', 1, TIMESTAMP '2026-01-02 00:00:00');
EXPECT TABLE q16 (channel, day, minute, total_bids) AS
VALUES ('a', '2026-01-01', '23:59', 1), ('a', '2026-01-02', '00:00', 1), ('b', '2026-01-02', '00:00', 1);
