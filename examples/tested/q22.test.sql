RUN FILE 'nexmark.sql', 'q22.sql';

START TEST the_folders_of_the_url_are_columns;
INSERT INTO bids (auction, bidder, price, channel, url) VALUES
  (1, 2, 3, 'web', 'https://example.com/a/b/c/item.htm'), (4, 5, 6, 'app', 'https://example.com/a');
EXPECT TABLE q22 AS VALUES (1, 2, 3, 'web', 'a', 'b', 'c'), (4, 5, 6, 'app', 'a', '', '');
