RUN FILE 'nexmark.sql', 'q12.sql';

START TEST bids_are_counted_by_the_clock;
INSERT INTO bids (bidder) VALUES (1), (1), (2);
EXPECT TABLE q12 AS VALUES
  (1, 2, '2026-01-01 00:00:00', '2026-01-01 00:00:10'), (2, 1, '2026-01-01 00:00:00', '2026-01-01 00:00:10');
ADVANCE CLOCK BY INTERVAL 9 SECONDS;
INSERT INTO bids (bidder) VALUES (2);
EXPECT TABLE q12 (bidder, bid_count) AS VALUES (1, 2), (2, 2);
ADVANCE CLOCK BY INTERVAL 1 SECOND;
INSERT INTO bids (bidder) VALUES (2);
EXPECT TABLE q12 (bidder, bid_count, starttime) AS VALUES
  (1, 2, '2026-01-01 00:00:00'), (2, 2, '2026-01-01 00:00:00'), (2, 1, '2026-01-01 00:00:10');
