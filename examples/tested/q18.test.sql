RUN FILE 'nexmark.sql', 'q18.sql';

START TEST the_newest_bid_stays;
INSERT INTO bids VALUES
  (1, 2, 30, 'web', 'u', TIMESTAMP '2026-01-01 00:00:02', 'x'),
  (1, 2, 99, 'app', 'v', TIMESTAMP '2026-01-01 00:00:01', 'y');
EXPECT TABLE q18 AS VALUES (1, 2, 30, 'web', 'u', '2026-01-01 00:00:02', 'x');
INSERT INTO bids (auction, bidder, price, dateTime) VALUES (1, 2, 5, TIMESTAMP '2026-01-01 00:00:03');
EXPECT TABLE q18 (auction, bidder, price) AS VALUES (1, 2, 5);

START TEST each_bidder_has_a_bid_on_each_auction;
INSERT INTO bids (auction, bidder, price, dateTime)
SELECT auction, bidder, 1, TIMESTAMP '2026-01-01 00:00:00' FROM VALUES (1), (2) a(auction), VALUES (3), (4) b(bidder);
EXPECT TABLE q18 (auction, bidder) AS VALUES (1, 3), (1, 4), (2, 3), (2, 4);
