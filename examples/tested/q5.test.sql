RUN FILE 'nexmark.sql', 'q5.sql';

START TEST the_auction_with_the_most_bids_wins_in_each_window;
INSERT INTO bids (auction, dateTime) VALUES
  (1, TIMESTAMP '2026-01-01 00:00:01'), (1, TIMESTAMP '2026-01-01 00:00:01'), (2, TIMESTAMP '2026-01-01 00:00:01');
EXPECT NO ROWS AS FROM q5;
INSERT INTO bids (auction, dateTime) VALUES (3, TIMESTAMP '2026-01-01 00:01:00');
EXPECT TABLE q5 AS VALUES (1, 2), (1, 2), (1, 2), (1, 2), (1, 2);

START TEST auctions_with_as_many_bids_win_together;
INSERT INTO bids (auction, dateTime) VALUES (1, TIMESTAMP '2026-01-01 00:00:01'),
  (2, TIMESTAMP '2026-01-01 00:00:01');
RUN JOBS;
INSERT INTO bids (auction, dateTime) VALUES (3, TIMESTAMP '2026-01-01 00:01:00');
EXPECT TABLE q5 AS SELECT auction, 1 FROM VALUES (1), (2) t(auction), range(5);

START TEST windows_begin_every_2_seconds;
INSERT INTO bids (auction, dateTime) VALUES
  (1, TIMESTAMP '2026-01-01 00:00:01'), (2, TIMESTAMP '2026-01-01 00:00:03'), (2, TIMESTAMP '2026-01-01 00:00:03');
RUN JOBS;
INSERT INTO bids (auction, dateTime) VALUES (3, TIMESTAMP '2026-01-01 00:01:00');
-- Auction 1 is alone in the first window.
EXPECT TABLE q5 AS VALUES (1, 1), (2, 2), (2, 2), (2, 2), (2, 2), (2, 2);
