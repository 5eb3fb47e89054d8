-- Add a value from a bounded table to each bid.
INSERT INTO q13
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid b JOIN side_input s ON s.key = b.auction % 10000
