RUN FILE 'nexmark.sql', 'q21.sql';

START TEST known_channels_have_numbers;
INSERT INTO bids (auction, bidder, price, channel, url) VALUES
  (1, 5, 6, 'Apple', ''), (2, 5, 6, 'google', ''), (3, 5, 6, 'Facebook', 'x&channel_id=9'), (4, 5, 6, 'BAIDU', '');
EXPECT TABLE q21 AS VALUES
  (1, 5, 6, 'Apple', '0'), (2, 5, 6, 'google', '1'), (3, 5, 6, 'Facebook', '2'), (4, 5, 6, 'BAIDU', '3');

START TEST others_have_the_id_of_their_url;
INSERT INTO bids (auction, channel, url) VALUES
  (1, 'x', 'a?b=1&channel_id=77&c=2'), (2, 'x', 'channel_id=5'), (3, 'x', 'a?channel_id='), (4, 'x', 'a?id=3');
EXPECT TABLE q21 (auction, channel, channel_id) AS VALUES (1, 'x', '77'), (2, 'x', '5');
