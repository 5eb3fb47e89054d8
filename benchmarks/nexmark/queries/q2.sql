-- Select the bids of some auctions.
INSERT INTO q2
SELECT auction, price FROM bid WHERE auction % 123 = 0
