RUN FILE 'nexmark.sql';
RUN FILE 'q6.sql';

START TEST the_winning_prices_are_averaged_in_the_order_of_time;
INSERT INTO auctions (id, seller, dateTime, expires)
SELECT id, 1, TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:01:00' FROM VALUES (1), (2), (3) t(id);
INSERT INTO bids (auction, price, dateTime) VALUES
  (3, 10, TIMESTAMP '2026-01-01 00:00:01'), (1, 20, TIMESTAMP '2026-01-01 00:00:02'),
  (1, 5, TIMESTAMP '2026-01-01 00:00:03'),
  (2, 60, TIMESTAMP '2026-01-01 00:00:04');
EXPECT TABLE q6 AS VALUES (1, 10), (1, 15), (1, 30);

START TEST the_last_11_prices_are_averaged;
INSERT INTO auctions (id, seller, dateTime, expires)
SELECT id, 1, TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:01:00' FROM range(1, 14);
INSERT INTO bids (auction, price, dateTime)
SELECT id, id, TIMESTAMP '2026-01-01 00:00:01' FROM range(1, 14);
EXPECT TABLE q6 AS SELECT 1, (greatest(1, id - 10) + id) / 2 FROM range(1, 14);

START TEST bids_count_while_the_auction_is_open;
INSERT INTO auctions (id, seller, dateTime, expires) VALUES
  (1, 1, TIMESTAMP '2026-01-01 00:00:10', TIMESTAMP '2026-01-01 00:00:20'),
  (2, 2, TIMESTAMP '2026-01-01 00:00:10', TIMESTAMP '2026-01-01 00:00:20');
INSERT INTO bids (auction, price, dateTime) VALUES
  (1, 5, TIMESTAMP '2026-01-01 00:00:10'), (1, 99, TIMESTAMP '2026-01-01 00:00:09'),
  (2, 7, TIMESTAMP '2026-01-01 00:00:20'), (2, 99, TIMESTAMP '2026-01-01 00:00:21'),
  (1, 99, TIMESTAMP '2026-01-01 00:00:21'), (3, 99, TIMESTAMP '2026-01-01 00:00:15');
EXPECT TABLE q6 AS VALUES (1, 5), (2, 7);
