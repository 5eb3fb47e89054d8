RUN FILE 'nexmark.sql', 'q19.sql';

START TEST the_ten_highest_bids_stay;
INSERT INTO bids (auction, price) SELECT 1, id FROM range(1, 13);
EXPECT TABLE q19 (auction, price, rank_number) AS SELECT 1, 13 - id, id FROM range(1, 11);

START TEST each_auction_has_ranks;
INSERT INTO bids VALUES
  (1, 2, 30, 'web', 'u', TIMESTAMP '2026-01-01 00:00:02', 'x'),
  (2, 3, 40, 'app', 'v', TIMESTAMP '2026-01-01 00:00:01', 'y');
EXPECT TABLE q19 AS VALUES
  (1, 2, 30, 'web', 'u', '2026-01-01 00:00:02', 'x', 1), (2, 3, 40, 'app', 'v', '2026-01-01 00:00:01', 'y', 1);
