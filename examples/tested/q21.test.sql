RUN FILE 'nexmark.sql', 'q21.sql';

START TEST known_channels_have_numbers;
INSERT INTO bids (auction, channel, url) VALUES
  (1, 'Apple', ''), (2, 'google', ''), (3, 'Facebook', 'x&channel_id=9'), (4, 'BAIDU', '');
EXPECT TABLE q21 AS VALUES (1, 'Apple', '0'), (2, 'google', '1'), (3, 'Facebook', '2'), (4, 'BAIDU', '3');

START TEST others_have_the_id_of_their_url;
INSERT INTO bids (auction, channel, url) VALUES
  (1, 'x', 'a?b=1&channel_id=77&c=2'), (2, 'x', 'channel_id=5'), (3, 'x', 'a?channel_id='), (4, 'x', 'a?id=3');
EXPECT TABLE q21 AS VALUES (1, 'x', '77'), (2, 'x', '5');
