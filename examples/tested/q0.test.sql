RUN FILE 'nexmark.sql', 'q0.sql';

START TEST every_bid_is_written_once;
INSERT INTO bids VALUES
  (1, 2, 30, 'web', 'u', TIMESTAMP '2026-01-01 00:00:01', 'x'),
  (1, 2, 30, 'web', 'u', TIMESTAMP '2026-01-01 00:00:01', 'x');
EXPECT TABLE q0 AS VALUES (1, 2, 30, '2026-01-01 00:00:01', 'x'), (1, 2, 30, '2026-01-01 00:00:01', 'x');
INSERT INTO bids (auction) VALUES (NULL);
EXPECT TABLE q0 (auction, extra) AS VALUES (1, 'x'), (1, 'x'), (NULL, NULL);
