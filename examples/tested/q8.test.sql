RUN FILE 'nexmark.sql', 'q8.sql';

START TEST a_person_and_an_auction_in_the_same_window_are_found_once;
INSERT INTO persons (id, name, dateTime) VALUES
  (1, 'ada', TIMESTAMP '2026-01-01 00:00:09'), (2, 'bob', TIMESTAMP '2026-01-01 00:00:09');
INSERT INTO auctions (seller, dateTime) VALUES
  (1, TIMESTAMP '2026-01-01 00:00:00'), (1, TIMESTAMP '2026-01-01 00:00:02'), (2, TIMESTAMP '2026-01-01 00:00:10');
EXPECT NO ROWS AS FROM q8;
INSERT INTO persons (id, dateTime) VALUES (8, TIMESTAMP '2026-01-01 00:00:40');
EXPECT NO ROWS AS FROM q8;
INSERT INTO auctions (seller, dateTime) VALUES (9, TIMESTAMP '2026-01-01 00:00:40');
EXPECT TABLE q8 AS VALUES (1, 'ada', '2026-01-01 00:00:00');

START TEST others_open_no_auction;
INSERT INTO persons (id, name, dateTime) VALUES (1, 'ada', TIMESTAMP '2026-01-01 00:00:05');
INSERT INTO auctions (seller, dateTime) VALUES (2, TIMESTAMP '2026-01-01 00:00:05');
RUN JOBS;
INSERT INTO persons (id, dateTime) VALUES (8, TIMESTAMP '2026-01-01 00:00:40');
INSERT INTO auctions (seller, dateTime) VALUES (9, TIMESTAMP '2026-01-01 00:00:40');
EXPECT NO ROWS AS FROM q8;
