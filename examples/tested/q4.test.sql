RUN FILE 'nexmark.sql';
-- The end of an auction has no watermark, so that the join keeps all rows.
CREATE OR REPLACE VIEW auction AS SELECT * FROM STREAM auctions;
CREATE OR REPLACE VIEW bid AS SELECT * FROM STREAM bids;
RUN FILE 'q4.sql';
INSERT INTO auctions (id, category, dateTime, expires) VALUES
  (1, 10, TIMESTAMP '2026-01-01 00:00:10', TIMESTAMP '2026-01-01 00:00:20'),
  (2, 10, TIMESTAMP '2026-01-01 00:00:10', TIMESTAMP '2026-01-01 00:00:20'),
  (3, 11, TIMESTAMP '2026-01-01 00:00:10', TIMESTAMP '2026-01-01 00:00:20');

START TEST the_highest_bids_are_averaged;
INSERT INTO bids (auction, price, dateTime) VALUES
  (1, 5, TIMESTAMP '2026-01-01 00:00:15'), (1, 9, TIMESTAMP '2026-01-01 00:00:16'),
  (1, 7, TIMESTAMP '2026-01-01 00:00:17'),
  (2, 4, TIMESTAMP '2026-01-01 00:00:15'), (3, 8, TIMESTAMP '2026-01-01 00:00:15');
EXPECT TABLE q4 AS VALUES (10, 6.5), (11, 8);

START TEST bids_count_while_the_auction_is_open;
INSERT INTO bids (auction, price, dateTime) VALUES
  (1, 5, TIMESTAMP '2026-01-01 00:00:10'), (1, 99, TIMESTAMP '2026-01-01 00:00:09'),
  (2, 7, TIMESTAMP '2026-01-01 00:00:20'), (2, 99, TIMESTAMP '2026-01-01 00:00:21'),
  (3, 99, TIMESTAMP '2026-01-01 00:00:21');
EXPECT TABLE q4 AS VALUES (10, 6);

START TEST bids_on_other_auctions_do_not_count;
INSERT INTO bids (auction, price, dateTime) VALUES (4, 5, TIMESTAMP '2026-01-01 00:00:15');
EXPECT NO ROWS AS FROM q4;
