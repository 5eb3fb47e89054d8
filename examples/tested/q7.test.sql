RUN FILE 'nexmark.sql', 'q7.sql';

START TEST the_highest_bid_of_each_window_is_found;
INSERT INTO bids (auction, bidder, price, dateTime, extra) VALUES
  (1, 2, 5, TIMESTAMP '2026-01-01 00:00:01', 'a'), (3, 4, 9, TIMESTAMP '2026-01-01 00:00:05', 'b'),
  (5, 6, 3, TIMESTAMP '2026-01-01 00:00:11', 'c'), (7, 8, 1, TIMESTAMP '2026-01-01 00:00:12', 'd');
EXPECT NO ROWS AS FROM q7;
INSERT INTO bids (auction, price, dateTime) VALUES (9, 0, TIMESTAMP '2026-01-01 00:00:40');
EXPECT TABLE q7 AS
VALUES (3, 4, 9, '2026-01-01 00:00:05', 'b'), (5, 6, 3, '2026-01-01 00:00:11', 'c');

START TEST bids_with_the_same_price_belong_to_their_windows;
INSERT INTO bids (auction, price, dateTime) VALUES
  (1, 9, TIMESTAMP '2026-01-01 00:00:00'), (2, 9, TIMESTAMP '2026-01-01 00:00:09'),
  (3, 9, TIMESTAMP '2026-01-01 00:00:12');
RUN JOBS;
INSERT INTO bids (auction, price, dateTime) VALUES (9, 0, TIMESTAMP '2026-01-01 00:00:40');
EXPECT TABLE q7 (auction) AS VALUES (1), (2), (3);

START TEST the_end_of_a_window_belongs_to_it_and_to_the_next_one;
INSERT INTO bids (auction, price, dateTime) VALUES
  (1, 9, TIMESTAMP '2026-01-01 00:00:05'), (2, 9, TIMESTAMP '2026-01-01 00:00:10');
RUN JOBS;
INSERT INTO bids (auction, price, dateTime) VALUES (9, 0, TIMESTAMP '2026-01-01 00:00:40');
EXPECT TABLE q7 (auction) AS VALUES (1), (2), (2);
