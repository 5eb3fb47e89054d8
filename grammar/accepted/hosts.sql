CREATE SECRET shop FROM ENV 'SHOP' FOR 'kafka://broker:9092'
