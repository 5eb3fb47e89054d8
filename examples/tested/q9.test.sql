RUN FILE 'nexmark.sql';
RUN FILE 'q9.sql';
INSERT INTO auctions VALUES
  (1, 'cup', 'd', 3, 4, TIMESTAMP '2026-01-01 00:00:10', TIMESTAMP '2026-01-01 00:00:20', 7, 10, 'x'),
  (2, 'jug', 'e', 5, 6, TIMESTAMP '2026-01-01 00:00:10', TIMESTAMP '2026-01-01 00:00:20', 8, 11, 'y');

START TEST the_highest_bid_wins;
INSERT INTO bids (auction, bidder, price, dateTime, extra) VALUES
  (1, 100, 5, TIMESTAMP '2026-01-01 00:00:11', 'a'), (1, 101, 9, TIMESTAMP '2026-01-01 00:00:12', 'b'),
  (2, 102, 7, TIMESTAMP '2026-01-01 00:00:13', 'c'), (3, 103, 99, TIMESTAMP '2026-01-01 00:00:13', 'd');
EXPECT TABLE q9 AS VALUES
  (1, 'cup', 'd', 3, 4, '2026-01-01 00:00:10', '2026-01-01 00:00:20', 7, 10, 'x', 1, 101, 9,
  '2026-01-01 00:00:12', 'b'),
  (2, 'jug', 'e', 5, 6, '2026-01-01 00:00:10', '2026-01-01 00:00:20', 8, 11, 'y', 2, 102, 7,
  '2026-01-01 00:00:13', 'c');

START TEST the_first_of_equal_bids_wins;
INSERT INTO bids (auction, bidder, price, dateTime) VALUES
  (1, 100, 9, TIMESTAMP '2026-01-01 00:00:12'), (1, 101, 9, TIMESTAMP '2026-01-01 00:00:11');
EXPECT TABLE q9 (id, bidder) AS VALUES (1, 101);

START TEST a_higher_bid_replaces_the_winner;
INSERT INTO bids (auction, bidder, price, dateTime) VALUES (1, 100, 5, TIMESTAMP '2026-01-01 00:00:11');
EXPECT TABLE q9 (id, bidder) AS VALUES (1, 100);
INSERT INTO bids (auction, bidder, price, dateTime) VALUES (1, 101, 6, TIMESTAMP '2026-01-01 00:00:12');
EXPECT TABLE q9 (id, bidder) AS VALUES (1, 101);

START TEST bids_count_while_the_auction_is_open;
INSERT INTO bids (auction, bidder, price, dateTime) VALUES
  (1, 100, 5, TIMESTAMP '2026-01-01 00:00:10'), (1, 101, 99, TIMESTAMP '2026-01-01 00:00:09'),
  (2, 102, 7, TIMESTAMP '2026-01-01 00:00:20'), (2, 103, 99, TIMESTAMP '2026-01-01 00:00:21');
EXPECT TABLE q9 (id, bidder) AS VALUES (1, 100), (2, 102);
