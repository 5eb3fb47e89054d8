RUN FILE 'nexmark.sql', 'q2.sql';

START TEST only_multiples_of_123_are_selected;
INSERT INTO bids (auction, price) VALUES (122, 1), (123, 2), (124, 3), (246, 4), (0, 5);
EXPECT TABLE q2 AS VALUES (123, 2), (246, 4), (0, 5);

START TEST each_bid_is_written_once;
INSERT INTO bids (auction, price) VALUES (123, 1), (123, 1);
EXPECT TABLE q2 AS VALUES (123, 1), (123, 1);
INSERT INTO bids (auction, price) VALUES (1, 2);
EXPECT TABLE q2 AS VALUES (123, 1), (123, 1);
