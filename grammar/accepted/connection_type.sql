CREATE CONNECTION k TYPE kafka OPTIONS ('kafka.bootstrap.servers' = 'broker:9092')
