"""Real names of options: names of secrets, and names that only resemble them."""

from __future__ import annotations

from typing import Final

SECRET: Final = (
    # Kafka's clients and schema registries
    *("kafka.ssl.key.password", "kafka.ssl.keystore.password", "kafka.ssl.truststore.password"),
    *("kafka.ssl.keystore.key", "ssl.keystore.key", "sasl.jaas.config", "kafka.sasl.jaas.config"),
    *("basic.auth.user.info", "schema.registry.basic.auth.user.info", "basic_auth_user_info", "bearer.auth.token"),
    *("sasl.oauthbearer.client.credentials.client.secret", "schema.registry.ssl.keystore.password"),
    # JDBC drivers
    *("password", "PASSWORD", "PWD", "pwd", "sfPwd", "sslpassword", "passwd", "pass", "dbPass", "DB_PASS", "userpass"),
    *("keyStorePassword", "trustStorePassword", "keypass", "accessToken", "oauthToken", "auth_accesstoken"),
    *("pem_private_key", "privateKey", "privateKeyPassphrase", "passphrase", "passcode", "password1"),
    *("oracle.net.wallet_password", "javax.net.ssl.keyStorePassword", "keyVaultProviderClientKey", "ssl.pass"),
    # S3A
    *("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token", "fs.s3a.encryption.key"),
    *("spark.hadoop.fs.s3a.access.key", "fs.s3a.server-side-encryption.key", "aws_secret_access_key"),
    *("aws_access_key_id", "awsAccessKeyId", "fs.s3a.bucket.shop.secret.key"),
    # ABFS, WASB and other services of Azure
    *("fs.azure.account.key.shop.dfs.core.windows.net", "fs.azure.account.oauth2.client.secret", "accountKey"),
    *("fs.azure.sas.fixed.token", "fs.azure.sas.box.shop.blob.core.windows.net", "sasToken", "adlsSas", "account_key"),
    *("sharedAccessKey", "SharedAccessSignature", "shared_key", "sharedKey", "eventhubs.connectionString", "sig"),
    *("spark.cosmos.accountKey", "masterKey", "subscription-key"),
    # GCS
    *("fs.gs.auth.service.account.private.key", "fs.gs.auth.client.secret", "fs.gs.auth.refresh.token"),
    *("fs.gs.encryption.key", "credentials", "credentialsFile", "google.cloud.auth.service.account.private.key.id"),
    # Others
    *("apikey", "apiKey", "api_key", "api-key", "x.api.key", "API_KEY", "apiKeySecret", "access-key", "api_token"),
    *("es.net.http.auth.pass", "es.net.http.header.Authorization", "X-Amz-Signature", "X-Amz-Credential"),
    *("authorization", "Proxy-Authorization", "bearer", "cookie", "http.cookie", "http.header.x-auth", "http_header.a"),
    *("parquet.encryption.key.list", "spark.ssl.keyPassword", "spark.authenticate.secret"),
)

PLAIN: Final = (
    # Kafka tables and clients
    *("key.format", "key.columns", "key.serializer", "key.deserializer", "key.secret", "KEY.format", "value.format"),
    *("kafka.bootstrap.servers", "kafka.group.id", "kafka.sasl.mechanism", "kafka.security.protocol", "topic"),
    *("kafka.sasl.kerberos.service.name", "kafka.ssl.truststore.location", "kafka.ssl.keystore.type", "acks"),
    *("kafka.ssl.truststore.certificates", "kafka.partition.assignment.strategy", "kafka.sasl.client.callback.class"),
    *("kafka.max.partition.fetch.bytes", "startingOffsets", "avro.schema.id", "delivery.headers"),
    # JDBC
    *("driver", "dbtable", "user", "fetchsize", "partitionColumn", "sslmode", "sslcert", "connectTimeout"),
    *("ApplicationName", "primary.key", "primaryKey", "foreign_key", "keyspace", "clientKeyFile", "monkey"),
    *("allowPassThrough", "pass-through", "passthrough", "pushDownPredicate", "assignment", "design", "signed"),
    # Files and stores
    *("fs.s3a.endpoint", "fs.s3a.path.style.access", "fs.s3a.encryption.algorithm", "fs.s3a.signing-algorithm"),
    *("fs.azure.account.auth.type", "fs.azure.account.keyprovider.shop", "fs.gs.project.id", "mergeSchema"),
    *("spark.io.encryption.keySizeBits", "spark.io.encryption.keygen.algorithm", "parquet.encryption.column.keys"),
    # Names that a careless pattern takes for secrets
    *("sasl.oauthbearer.scope", "hadoop.security.authorization.enabled", "cookie.path", "authorizations", "http.proxy"),
    *("bypass", "compass", "passengers", "passenger.count", "passport", "passive", "tokenizer", "tokenization"),
    *(
        "Passengers",
        "isPassenger",
        "encompass",
        "surpassed",
        "trespass",
        "sasl.enabled",
        "kansas",
        "signature.algorithm",
    ),
    *("spark.sql.caseSensitive", "trigger", "spark.sql.shuffle.partitions", "spark.scheduler.mode"),
)
