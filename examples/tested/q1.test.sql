RUN FILE 'nexmark.sql', 'q1.sql';

START TEST prices_are_in_euros;
INSERT INTO bids (auction, bidder, price, extra) VALUES (1, 2, 1000, 'x'), (3, 4, 0, 'y'), (5, 6, NULL, 'z'),
  (7, 8, 1, '');
EXPECT TABLE q1 (auction, bidder, price, extra) AS
VALUES (1, 2, 908.000, 'x'), (3, 4, 0, 'y'), (5, 6, NULL, 'z'), (7, 8, 0.908, '');

START TEST the_time_stays;
INSERT INTO bids (dateTime) VALUES (TIMESTAMP '2026-01-01 00:00:01');
EXPECT TABLE q1 (dateTime) AS VALUES ('2026-01-01 00:00:01');
