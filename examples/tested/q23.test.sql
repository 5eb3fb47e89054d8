RUN FILE 'nexmark.sql', 'q23.sql';

START TEST a_bid_meets_its_bidder_and_the_auctions_of_the_bidder;
INSERT INTO bids VALUES (9, 1, 30, 'web', 'u', TIMESTAMP '2026-01-01 00:00:02', 'x');
INSERT INTO persons VALUES (1, 'ada', 'a@b', 'card', 'Bend', 'OR', NULL, 'p');
EXPECT NO ROWS AS FROM q23;
INSERT INTO auctions VALUES
  (5, 'cup', 'd', 3, 4, TIMESTAMP '2026-01-01 00:00:01', TIMESTAMP '2026-01-01 00:00:09', 1, 10, 'y');
EXPECT TABLE q23 AS VALUES (
  1, 30, 'web', 'u', 'x', 1, 'ada', 'a@b', 'card', 'Bend', 'OR', 'p', 'cup', 'd', 3, 4, '2026-01-01 00:00:01',
  '2026-01-01 00:00:09', 1, 10, 'y'
);

START TEST the_bidder_is_the_key_of_both_joins;
INSERT INTO persons (id) VALUES (1), (2), (4);
INSERT INTO auctions (id, seller) VALUES (10, 1), (11, 1), (12, 3), (13, 4);
INSERT INTO bids (auction, bidder, price) VALUES (1, 1, 5), (1, 2, 6), (1, 3, 7), (13, 9, 8);
EXPECT TABLE q23 (bidder, person_id, seller) AS VALUES (1, 1, 1), (1, 1, 1);
