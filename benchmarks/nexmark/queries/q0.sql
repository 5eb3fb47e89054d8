-- Pass every bid through.
INSERT INTO q0
SELECT auction, bidder, price, dateTime, extra FROM bid
