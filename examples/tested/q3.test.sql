RUN FILE 'nexmark.sql', 'q3.sql';

START TEST the_auction_may_come_before_the_person;
INSERT INTO auctions (id, seller, category) VALUES (7, 1, 10);
EXPECT NO ROWS AS FROM q3;
INSERT INTO persons (id, name, city, state) VALUES (1, 'Ada', 'Bend', 'OR');
EXPECT TABLE q3 AS VALUES ('Ada', 'Bend', 'OR', 7);

START TEST the_state_and_the_category_decide;
INSERT INTO persons (id, name, state) VALUES (1, 'o', 'OR'), (2, 'i', 'ID'), (3, 'c', 'CA'), (4, 'w', 'WA');
INSERT INTO auctions (id, seller, category) VALUES (1, 1, 10), (2, 2, 10), (3, 3, 10), (4, 4, 10), (5, 1, 9),
  (6, 1, 11);
EXPECT TABLE q3 (name, id) AS VALUES ('o', 1), ('i', 2), ('c', 3);

START TEST the_seller_is_the_key;
INSERT INTO persons (id, name, state) VALUES (1, 'Ada', 'OR');
INSERT INTO auctions (id, seller, category) VALUES (1, 2, 10);
EXPECT NO ROWS AS FROM q3;
