RUN FILE 'nexmark.sql', 'q13.sql';

START TEST the_auction_finds_the_value;
INSERT INTO side_input VALUES (1, 'one'), (2, 'two'), (0, 'zero');
INSERT INTO bids (auction, bidder, price, dateTime) VALUES
  (1, 5, 6, TIMESTAMP '2026-01-01 00:00:00'), (20002, 7, 8, NULL), (10000, 9, 10, NULL), (3, 11, 12, NULL);
EXPECT TABLE q13 AS VALUES (1, 5, 6, '2026-01-01 00:00:00', 'one'), (20002, 7, 8, NULL, 'two'),
  (10000, 9, 10, NULL, 'zero');

START TEST new_values_apply_to_later_bids;
INSERT INTO bids (auction) VALUES (1);
EXPECT NO ROWS AS FROM q13;
INSERT INTO side_input VALUES (1, 'one');
INSERT INTO bids (auction) VALUES (1);
EXPECT TABLE q13 (auction, value) AS VALUES (1, 'one');
