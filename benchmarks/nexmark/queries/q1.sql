-- Convert the price of every bid from dollars to euros.
INSERT INTO q1
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid
