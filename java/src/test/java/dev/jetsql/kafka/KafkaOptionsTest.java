package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Secrets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KafkaOptionsTest {
  private static final StructType COLUMNS =
      StructType.fromDDL("id BIGINT, name STRING, ts TIMESTAMP");

  @BeforeAll
  static void setSecretNames() {
    Secrets.setNames("password|jaas");
  }

  /** Checks the options of a statement, after those that every table needs. */
  private static void check(StructType columns, String options) {
    String sql =
        "CREATE TABLE t USING kafka OPTIONS ('kafka.bootstrap.servers' = 'a:9092'" + options + ")";
    CreateTable create = (CreateTable) CatalystSqlParser$.MODULE$.parsePlan(sql);
    KafkaOptions.check((UnresolvedTableSpec) create.tableSpec(), columns);
  }

  private static JetSqlException refused(StructType columns, String options) {
    return assertThrows(JetSqlException.class, () -> check(columns, options));
  }

  private static void assertRefused(String condition, String message, String options) {
    JetSqlException error = refused(COLUMNS, ", 'topic' = 'x', 'value.format' = 'json'" + options);
    assertEquals("JETSQL." + condition, error.getCondition());
    assertTrue(error.getMessage().contains(message), error.getMessage());
  }

  @Test
  void acceptsAFullTable() {
    assertDoesNotThrow(
        () ->
            check(
                COLUMNS,
                """
                , 'topic' = 'x', 'value.format' = 'json', 'key.columns' = 'id, `name`', 'on.error' = 'table:bad',
                'watermark' = 'ts DELAY OF INTERVAL 5 SECONDS', 'startingOffsets' = 'latest', 'kafka.linger.ms' = 5,
                'maxOffsetsPerTrigger' = 100, 'includeHeaders' = true, 'json.timestampFormat' = 'yyyy'\
                """));
  }

  @Test
  void acceptsKafkasOwnColumns() {
    assertDoesNotThrow(() -> check(new StructType(), ", 'subscribe' = 'a,b'"));
    assertDoesNotThrow(
        () -> check(KafkaTable.MESSAGE_WITH_HEADERS, ", 'subscribePattern' = 'a.*'"));
    assertDoesNotThrow(() -> check((StructType) null, ", 'assign' = '{\"a\": [0]}'"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'maxOffsetsPerTrigger' = 'many'|a whole number",
        "'minPartitions' = 0|1 or more",
        "'includeHeaders' = 'yes'|one of 'true', 'false'",
        "'key.format' = 'xml'|one of 'json', 'csv', 'avro', 'raw'",
        "'startingOffsets' = 'first'|'earliest', 'latest' or a JSON object",
        "'startingOffsets' = '{oops'|It must be JSON",
        "'on.error' = 'table:'|'fail', 'null', 'skip', 'table:NAME'",
        "'watermark' = 'ts'|such as 'ts DELAY OF INTERVAL 5 SECONDS'",
        "'watermark' = 'ts DELAY OF INTERVAL -5 SECONDS'|such as 'ts DELAY OF INTERVAL 5 SECONDS'",
        "'watermark' = 'id DELAY OF 5 SECONDS'|for a TIMESTAMP column, but id is BIGINT",
        "'watermark' = 'no DELAY OF 5 SECONDS'|names the column no",
        "'key.columns' = 'id,ID'|each column once",
        "'key.columns' = 'other'|Its columns: id, name, ts.",
        "'avro.schema' = '\"long\"'|must be the Avro schema of a record, as JSON: it is not a"
            + " record.",
        "'avro.schema.id' = '4294967296'|the id of the schema in a schema registry",
        "'key.format' = 'raw', 'key.columns' = 'id,name'|the key is one column"
      })
  void refusesInvalidValues(String option, String message) {
    assertRefused("INVALID_OPTION_VALUE", message, ", " + option);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a/b", "..", "ä"})
  void refusesInvalidTopics(String topic) {
    JetSqlException error = refused(null, ", 'topic' = '" + topic + "'");
    assertTrue(error.getMessage().contains("It must be the name of"), error.getMessage());
  }

  @Test
  void refusesUnknownFixedAndRepeatedOptions() {
    assertRefused(
        "UNKNOWN_OPTION", "Did you mean 'startingOffsets'?", ", 'startingOfsets' = 'latest'");
    assertRefused("UNKNOWN_OPTION", "Did you mean 'kafka.acks'?", ", 'acks' = 'all'");
    assertRefused(
        "OPTION_NOT_CHANGEABLE",
        "Cannot set 'kafka.transactional.id'",
        ", 'kafka.transactional.id' = 'x'");
    assertRefused("DUPLICATE_OPTION", "'TOPIC' is given twice", ", 'TOPIC' = 'y'");
  }

  @Test
  void refusesSecretsOutsideOfClientOptions() {
    assertRefused(
        "INVALID_OPTION_VALUE",
        "only options that begin with 'kafka.', and the credentials of a schema registry, can",
        ", 'groupIdPrefix' = 'secret:env:X'");
    assertDoesNotThrow(
        () -> check(null, ", 'topic' = 'x', 'kafka.ssl.key.password' = 'secret:env:X'"));
  }

  @Test
  void reportsThePlaceOfTheValue() {
    JetSqlException error = refused(COLUMNS, ",\n  'topic' = 'x', 'minPartitions' = 0");
    assertEquals(2, error.line().get());
  }

  @Test
  void refusesDebeziumsAvroWithoutARegistry() {
    String table = ", 'topic' = 'x', 'value.format' = 'debezium-avro'";
    String registry = ", 'avro.schema.registry.url' = 'http://x'";
    String id = ", 'avro.recursiveFieldMaxDepth' = 1";
    assertDoesNotThrow(() -> check(COLUMNS, table + registry));
    assertDoesNotThrow(() -> check(COLUMNS, table + registry + id + ", 'key.format' = 'avro'"));
    assertTrue(refused(COLUMNS, table).getMessage().contains("needs the option 'avro.schema.reg"));
    String schema = ", 'avro.schema' = '{\"type\": \"record\", \"name\": \"a\", \"fields\": []}'";
    for (String option : List.of(id, schema + ", 'key.format' = 'avro'")) {
      JetSqlException error = refused(null, table + registry + option);
      assertTrue(error.getMessage().contains("Leave it out"), error.getMessage());
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "protobuf|'json.schema.registry.url' = 'http://x'|is for tables with 'value.format' ="
            + " 'json'.",
        "json|'avro.schema.registry.url' = 'http://x'|with 'value.format' = 'avro' or"
            + " 'debezium-avro'",
        "json|'protobuf.schema.registry.url' = 'http://x'|with 'value.format' = 'protobuf'",
        "json|'json.schema.registry.version' = '1'|needs 'json.schema.registry.url' as well",
        "json|'json.schema.registry.url' = 'x:1'|It must be a URL",
        "json|'json.schema.registry.url' ="
            + " 'http://a:b@x'|'json.schema.registry.basic.auth.user.info'",
        "protobuf|'protobuf.schema.registry.url' = 'http://x', 'protobuf.descriptor' = 'AA'|Set"
            + " either",
        "protobuf|'protobuf.message' = 'a.B'|it needs 'protobuf.schema.registry.url' instead",
        "debezium-json|'json.schema.registry.url' = 'http://x'|with 'value.format' = 'json'"
      })
  void refusesRegistriesOfOtherFormats(String format, String options, String message) {
    String table = ", 'topic' = 'x', 'value.format' = '" + format + "', " + options;
    JetSqlException error = refused(COLUMNS, table);
    assertTrue(error.getMessage().contains(message), error.getMessage());
  }

  @Test
  void acceptsARegistryForEachFormat() {
    for (String format : List.of("avro", "protobuf", "json")) {
      String prefix = ", '" + format + ".schema.registry.";
      String options =
          prefix + "url' = 'https://x'" + prefix + "bearer.auth.token' = 'secret:env:X'";
      assertDoesNotThrow(
          () -> check(COLUMNS, ", 'topic' = 'x', 'value.format' = '" + format + "'" + options));
    }
  }

  @Test
  void refusesOptionsThatDoNotGoTogether() {
    assertTrue(refused(null, "").getMessage().contains("needs the option 'topic'"));
    assertTrue(
        refused(null, ", 'topic' = 'x', 'subscribe' = 'y'")
            .getMessage()
            .contains("needs the option 'topic'"));
    assertTrue(
        refused(COLUMNS, ", 'topic' = 'x'")
            .getMessage()
            .contains("needs the option 'value.format'"));
    assertTrue(
        refused(new StructType(), ", 'topic' = 'x', 'value.format' = 'json'")
            .getMessage()
            .contains("needs its columns in the statement"));
    assertTrue(
        refused(new StructType(), ", 'topic' = 'x', 'on.error' = 'skip'")
            .getMessage()
            .contains("is for tables with columns of their own"));
    assertTrue(
        refused(COLUMNS, ", 'topic' = 'x', 'value.format' = 'raw'")
            .getMessage()
            .contains("name all others in 'key.columns'"));
  }

  @Test
  void refusesColumnsThatTheFormatCannotCarry() {
    StructType columns = StructType.fromDDL("id BIGINT, list ARRAY<INT>");
    String message = refused(columns, ", 'topic' = 'x', 'value.format' = 'csv'").getMessage();
    assertTrue(message.contains("The column list (ARRAY<INT>) cannot be written as csv."), message);
  }

  @Test
  void checksOptionsWithoutPlaces() {
    Map<String, String> options =
        new HashMap<>(
            Map.of("kafka.bootstrap.servers", "a:1", "Topic", "x", "value.format", "json"));
    assertDoesNotThrow(() -> KafkaOptions.check(options, COLUMNS));
    options.put("kafka.bootstrap.servers", "a");
    String message =
        assertThrows(JetSqlException.class, () -> KafkaOptions.check(options, COLUMNS))
            .getMessage();
    assertTrue(message.contains("HOST:PORT, or several of them separated by commas"), message);
  }

  @Test
  void splitsLists() {
    assertEquals(List.of("a", "b c", "d"), KafkaTable.columnList("a, `b c` ,\"d\""));
    assertEquals(List.of(), KafkaTable.columnList(null));
  }
}
