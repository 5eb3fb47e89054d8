RUN FILE 'nexmark.sql', 'q10.sql';

START TEST bids_are_in_the_partition_of_their_minute;
INSERT INTO bids (auction, bidder, price, dateTime, extra) VALUES
  (1, 2, 3, TIMESTAMP '2026-01-01 13:05:59', 'x'), (4, 5, 6, TIMESTAMP '2026-12-31 23:59:00', 'y');
EXPECT TABLE q10 AS VALUES
  (1, 2, 3, '2026-01-01 13:05:59', 'x', '2026-01-01', '13:05'),
  (4, 5, 6, '2026-12-31 23:59:00', 'y', '2026-12-31', '23:59');
