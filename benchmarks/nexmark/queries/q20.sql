-- Add the auction to each bid on category 10.
INSERT INTO q20
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bid_dateTime, b.extra AS bid_extra,
  a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.seller, a.category,
  a.extra AS auction_extra
FROM bid b JOIN auction a ON a.id = b.auction
WHERE a.category = 10
