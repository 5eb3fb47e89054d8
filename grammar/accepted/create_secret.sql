CREATE SECRET shop FROM FILE '/run/secrets/shop';
CREATE SECRET shop FROM ENV 'SHOP_PASSWORD' FOR 'jdbc:postgresql://db/' COMMENT 'of the shop';
CREATE OR REPLACE SECRET shop FROM FILE '/run/secrets/shop' FOR 'jdbc:postgresql://db/', 'kafka://broker:9092';
CREATE SECRET IF NOT EXISTS `my shop` FROM ENV 'SHOP'
