CREATE CONNECTION pg TYPE jdbc OPTIONS ('url' = 'jdbc:postgresql://db/shop', 'user' = 'ann', 'password' = 'secret:shop');
CREATE CONNECTION k TYPE kafka OPTIONS ('kafka.bootstrap.servers' = 'broker:9092') COMMENT 'all topics';
CREATE OR REPLACE CONNECTION s TYPE s3 OPTIONS ('bucket' = 'b');
CREATE CONNECTION IF NOT EXISTS r TYPE REGISTRY OPTIONS ('url' = 'http://registry:8081')
