package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConnectorOptionsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "topic",
        "Path",
        "on.error",
        "watermark",
        "key.format",
        "value.format",
        "json.mode",
        "AVRO.schema",
        "delivery.headers",
        "serialization.format"
      })
  void keepsJetSqlsOwnOptions(String name) {
    assertTrue(ConnectorOptions.isJetSqlOption(name));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "subscribe",
        "startingOffsets",
        "kafka.bootstrap.servers",
        "includeHeaders",
        "topics"
      })
  void passesAllOthersToTheConnector(String name) {
    assertFalse(ConnectorOptions.isJetSqlOption(name));
  }
}
