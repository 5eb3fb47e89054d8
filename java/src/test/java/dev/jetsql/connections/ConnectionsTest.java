package dev.jetsql.connections;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.JetSqlException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConnectionsTest {
  private static final String CANARY = "canary-of-a-secret";

  @TempDir Path folder;

  @BeforeEach
  void publish() throws IOException {
    var file = Files.writeString(folder.resolve("secret"), CANARY + "\n");
    Connections.publish(
        """
        {"secrets": {
           "shop": {"kind": "file", "place": "%s", "hosts": []},
           "bound": {"kind": "file", "place": "%s", "hosts":
             ["jdbc:postgresql://db/", "kafka://broker:9092", "https://registry"]}},
         "connections": {
           "pg": {"type": "jdbc", "changed": 1.5, "options":
             {"url": "jdbc:postgresql://db/shop", "user": "ann", "password": "secret:shop"}},
           "k": {"type": "kafka", "changed": 2, "options":
             {"kafka.bootstrap.servers": "broker:9092", "kafka.sasl.jaas.config": "secret:bound"}},
           "reg": {"type": "registry", "changed": 3, "options":
             {"url": "https://registry", "bearer.auth.token": "secret:bound"}}}}
        """
            .formatted(file, file));
  }

  @AfterEach
  void forget() {
    Connections.publish("{}");
  }

  @Test
  void theOptionsOfAConnectionAreAddedWithReferences() {
    var merged = Connections.merged("jdbc", Map.of("Connection", "PG", "dbtable", "t"));
    assertEquals(
        Map.of(
            "dbtable", "t",
            "url", "jdbc:postgresql://db/shop",
            "user", "ann",
            "password", "secret:shop"),
        merged);
    assertEquals(CANARY, NamedSecrets.reveal(merged).get("password"));
  }

  @Test
  void aSchemaRegistryHasAConnectionOfItsOwn() {
    var merged =
        Connections.merged(
            "kafka",
            Map.of("connection", "k", "topic", "t", "avro.schema.registry.connection", "reg"));
    assertEquals("https://registry", merged.get("avro.schema.registry.url"));
    assertEquals(CANARY, NamedSecrets.reveal(merged).get("avro.schema.registry.bearer.auth.token"));
    assertEquals(CANARY, NamedSecrets.reveal(merged).get("kafka.sasl.jaas.config"));
  }

  @Test
  void optionsWithoutAConnectionAreUnchanged() {
    var options = Map.of("topic", "t");
    assertEquals(options, Connections.merged("kafka", options));
    assertFalse(Connections.isUsed(options));
    assertEquals("", Connections.version(options));
    assertEquals("pg 1.5", Connections.version(Map.of("connection", "PG")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "url",
        "USER",
        "password",
        "driver",
        "socketFactory",
        "sessionInitStatement",
        "keytab"
      })
  void anOptionOfTheConnectionIsRefusedInATable(String name) {
    refused("jdbc", Map.of("connection", "pg", "dbtable", "t", name, "x"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "kafka.bootstrap.servers",
        "kafka.sasl.jaas.config",
        "kafka.security.protocol",
        "kafka.metric.reporters",
        "kafka.ssl.truststore.location"
      })
  void anOptionOfAClientIsRefusedInATable(String name) {
    refused("kafka", Map.of("connection", "k", "topic", "t", name, "x"));
  }

  @Test
  void wrongConnectionsAreRefused() {
    refused("jdbc", Map.of("connection", "no"));
    refused("jdbc", Map.of("connection", "k"));
    refused("jdbc", Map.of("connection", "pg", "dbtable", "secret:shop"));
    refused("kafka", Map.of("topic", "t", "avro.schema.registry.connection", "k"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:postgresql://db/shop",
        "jdbc:postgresql://DB:5432/shop?sslmode=require&ApplicationName=x",
        "jdbc:postgresql://db,db:1/shop",
        "jdbc:postgresql://db",
      })
  void aBoundSecretGoesToItsHost(String url) {
    assertEquals(CANARY, reveal("password", Map.of("url", url, "dbtable", "t")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:postgresql://evil/shop",
        "jdbc:postgresql://db,evil/shop",
        "jdbc:postgresql://db:5432,/shop",
        "jdbc:postgresql://evil/jdbc:postgresql://db/",
        "jdbc:postgresql://db@evil/shop",
        "jdbc:postgresql://evil#db/shop",
        "jdbc:postgresql://db.evil/shop",
        "jdbc:postgresql:shop",
        "jdbc:postgresql:///shop",
        "jdbc:postgresql://db/shop?host=evil",
        "jdbc:postgresql://db/shop?socketFactory=evil.Factory",
        "jdbc:postgresql://db/shop?sslmode=require&sslfactory=evil.Factory",
        "jdbc:postgresql://db/shop?socket%46actory=evil.Factory",
        "jdbc:postgresql://db/shop?service=evil",
        "jdbc:postgresql://db/shop?loggerFile=/etc/x",
        "jdbc:postgresql://db/shop?a?sslmode=x",
        "jdbc:mysql://db/shop",
        "jdbc:mysql://address=(host=evil)/shop",
        "jdbc:mysql:loadbalance://db/shop",
        "jdbc:sqlserver://db;serverName=evil",
        "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://evil'",
        "",
      })
  void aBoundSecretGoesToNoOtherHost(String url) {
    notForHost("password", Map.of("url", url, "dbtable", "t"));
  }

  @Test
  void optionsOfTheDriverDoNotRedirectABoundSecret() {
    var url = "jdbc:postgresql://db/shop";
    notForHost("password", Map.of("url", url, "socketFactory", "evil.Factory"));
    notForHost("password", Map.of("url", url, "PGHOST", "evil"));
    notForHost("password", Map.of("url", url, "driver", "evil.Driver"));
    notForHost("password", Map.of("dbtable", "t"));
    assertEquals(CANARY, reveal("password", Map.of("url", url, "driver", "org.postgresql.Driver")));
  }

  @Test
  void aBoundSecretGoesToItsBrokersOnly() {
    var option = "kafka.sasl.jaas.config";
    assertEquals(CANARY, reveal(option, Map.of("kafka.bootstrap.servers", "broker:9092")));
    assertEquals(CANARY, reveal(option, Map.of("bootstrap.servers", "broker:9092")));
    for (var servers : List.of("evil:9092", "broker:9092,evil:1", "broker:9093", "broker", "", "@"))
      notForHost(option, Map.of("kafka.bootstrap.servers", servers));
    notForHost(
        option,
        Map.of(
            "kafka.bootstrap.servers",
            "broker:9092",
            "kafka.sasl.oauthbearer.token.endpoint.url",
            "https://evil/token"));
    notForHost(
        option,
        Map.of(
            "kafka.bootstrap.servers",
            "broker:9092",
            "kafka.sasl.client.callback.handler.class",
            "evil.Handler"));
  }

  @Test
  void aBoundSecretGoesToItsRegistryOnly() {
    var option = "avro.schema.registry.bearer.auth.token";
    var url = "avro.schema.registry.url";
    var brokers = "kafka.bootstrap.servers";
    assertEquals(
        CANARY, reveal(option, Map.of(url, "https://registry:8081/x", brokers, "other:1")));
    for (var other :
        List.of(
            "https://evil", "http://registry", "https://registry@evil", "https://evil#registry"))
      notForHost(option, Map.of(url, other, brokers, "broker:9092"));
    notForHost(option, Map.of(brokers, "broker:9092"));
  }

  @Test
  void aSecretThatDoesNotExistIsReported() {
    var error =
        assertThrows(
            JetSqlException.class,
            () -> NamedSecrets.reveal("password", "secret:no", Map.of("url", "jdbc:x:y")));
    assertEquals("JETSQL.SECRET_NOT_READABLE", error.getCondition());
  }

  @Test
  void onlyReferencesAreRevealed() {
    assertEquals(
        "{\"password\":\"" + CANARY + "\"}",
        NamedSecrets.revealOptions(null, "", "{\"password\":\"secret:shop\"}"));
    assertEquals("{\"user\":\"ann\"}", NamedSecrets.revealOptions(null, "", "{\"user\":\"ann\"}"));
    assertNull(NamedSecrets.reveal("user", null, Map.of()));
  }

  @Test
  void hostsAreUrls() {
    for (var url :
        List.of(
            "jdbc:postgresql://db/",
            "jdbc:mysql://db:3306",
            "kafka://broker:9092",
            "https://registry",
            "s3a://bucket/")) assertNull(Hosts.problem(url));
    for (var url :
        List.of("db", "jdbc:postgresql://db/shop", "kafka://*", "https://a@b", "ftp://x", ""))
      assertNotNull(Hosts.problem(url));
  }

  @Test
  void usersWriteOptionsThatNameNoHost() {
    for (var name : List.of("connection", "topic", "json.mode", "kafka.linger.ms"))
      assertTrue(ConnectionOptions.isForUsers("kafka", name));
    for (var name :
        List.of(
            "kafka.bootstrap.servers",
            "protobuf.descriptor.file",
            "on.error",
            "avro.schema.registry.url",
            "path")) assertFalse(ConnectionOptions.isForUsers("kafka", name));
    assertTrue(ConnectionOptions.isForUsers("jdbc", "dbtable"));
    for (var name : List.of("url", "driver", "socketFactory", "path"))
      assertFalse(ConnectionOptions.isForUsers("jdbc", name));
  }

  private static String reveal(String option, Map<String, String> options) {
    return NamedSecrets.reveal(option, "secret:bound", options);
  }

  private static void notForHost(String option, Map<String, String> options) {
    var error = assertThrows(JetSqlException.class, () -> reveal(option, options));
    assertEquals("JETSQL.SECRET_NOT_FOR_HOST", error.getCondition());
    assertFalse(error.getMessage().contains(CANARY));
  }

  private static void refused(String format, Map<String, String> options) {
    assertThrows(JetSqlException.class, () -> Connections.merged(format, options));
  }
}
