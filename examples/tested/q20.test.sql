RUN FILE 'nexmark.sql', 'q20.sql';

START TEST the_auction_is_added_to_the_bid;
INSERT INTO bids VALUES (1, 2, 30, 'web', 'u', TIMESTAMP '2026-01-01 00:00:02', 'x');
EXPECT NO ROWS AS FROM q20;
INSERT INTO auctions VALUES
  (1, 'cup', 'd', 3, 4, TIMESTAMP '2026-01-01 00:00:01', TIMESTAMP '2026-01-01 00:00:09', 7, 10, 'y');
EXPECT TABLE q20 AS VALUES (
  1, 2, 30, 'web', 'u', '2026-01-01 00:00:02', 'x', 'cup', 'd', 3, 4, '2026-01-01 00:00:01',
  '2026-01-01 00:00:09', 7, 10, 'y'
);

START TEST the_category_is_10;
INSERT INTO auctions (id, category) VALUES (1, 9), (2, 10), (3, 11);
INSERT INTO bids (auction, price) VALUES (1, 1), (2, 2), (2, 3), (3, 4), (4, 5);
EXPECT TABLE q20 (auction, price) AS VALUES (2, 2), (2, 3);
