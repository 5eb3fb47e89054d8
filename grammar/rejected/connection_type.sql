-- error: PARSE_SYNTAX_ERROR at 1:25: Expected JDBC, KAFKA, REGISTRY or S3
CREATE CONNECTION k TYPE 'kafka' OPTIONS ('kafka.bootstrap.servers' = 'broker:9092')
