-- Average the last winning prices of each seller. The id of the auction decides between equal times.
CREATE TABLE q6 (seller BIGINT, avg_price DOUBLE) USING parquet;
CREATE JOB q6 AS
INSERT OVERWRITE TABLE q6
SELECT seller,
  avg(price) OVER (PARTITION BY seller ORDER BY dateTime, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS avg_price
FROM (
  SELECT id, seller, price, dateTime, row_number() OVER (PARTITION BY id, seller ORDER BY price DESC) AS rank
  FROM (
    SELECT a.id, a.seller, b.price, b.dateTime
    FROM auction_without_watermark a JOIN bid_without_watermark b
    ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
  )
)
WHERE rank <= 1;
