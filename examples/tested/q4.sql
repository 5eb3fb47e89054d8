-- Average the winning prices of each category.
CREATE TABLE q4 (category BIGINT, final DOUBLE) USING parquet;
CREATE JOB q4 AS
INSERT OVERWRITE TABLE q4
SELECT category, avg(final) AS final
FROM (
  SELECT max(b.price) AS final, a.category
  FROM auction_without_watermark a JOIN bid_without_watermark b
  ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.id, a.category
)
GROUP BY category;
