RUN FILE 'nexmark.sql', 'q14.sql';

START TEST prices_have_bounds;
INSERT INTO bids (auction, price) VALUES (1, 1101321), (2, 1101322), (3, 55066079), (4, 55066080);
EXPECT TABLE q14 (auction, price) AS VALUES (2, 1000000.376), (3, 49999999.732);

START TEST the_hour_decides;
INSERT INTO bids (auction, price, dateTime)
SELECT hour, 2000000, TIMESTAMP '2026-01-01 00:30:00' + make_dt_interval(0, hour) FROM VALUES (0), (6), (7),
  (8), (18), (19), (20), (23) t(hour);
EXPECT TABLE q14 (auction, bidTimeType) AS VALUES
  (0, 'nightTime'), (6, 'nightTime'), (7, 'otherTime'), (8, 'dayTime'), (18, 'dayTime'), (19, 'otherTime'),
  (20, 'nightTime'),
  (23, 'nightTime');

START TEST the_letter_c_is_counted;
INSERT INTO bids (auction, bidder, price, dateTime, extra) VALUES
  (1, 2, 2000000, TIMESTAMP '2026-01-01 08:00:00', 'abc'), (3, 4, 2000000, TIMESTAMP '2026-01-01 08:00:00', 'ccxcC'),
  (5, 6, 2000000, TIMESTAMP '2026-01-01 08:00:00', '');
EXPECT TABLE q14 AS VALUES
  (1, 2, 1816000, 'dayTime', '2026-01-01 08:00:00', 'abc', 1),
  (3, 4, 1816000, 'dayTime', '2026-01-01 08:00:00', 'ccxcC', 3),
  (5, 6, 1816000, 'dayTime', '2026-01-01 08:00:00', '', 0);
