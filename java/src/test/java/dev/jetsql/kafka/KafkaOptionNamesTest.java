package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KafkaOptionNamesTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "topic",
        "startingoffsets",
        "kafka.bootstrap.servers",
        "kafka.fetch.min.bytes",
        "json.timestampformat",
        "csv.sep",
        "avro.schema.id"
      })
  void knowsOptionsOfJetSqlTheConnectorClientsAndFormats(String key) {
    assertTrue(KafkaOptionNames.isKnown(key));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "topics",
        "kafka.",
        "kafka.bootstrap.server",
        "kafka.ack",
        "bootstrap.servers",
        "json.nothing"
      })
  void refusesUnknownNamesAndTypingErrors(String key) {
    assertFalse(KafkaOptionNames.isKnown(key));
  }

  @Test
  void listsNamesInAnyCase() {
    assertTrue(KafkaOptionNames.isListed("STARTINGOFFSETS"));
    assertFalse(KafkaOptionNames.isListed("kafka.fetch.min.bytes"));
  }

  @Test
  void suggestsTheNearestName() {
    assertEquals("topic", KafkaOptionNames.nearest("topik", 3));
    assertEquals("startingOffsets", KafkaOptionNames.nearest("startingofsets", 3));
    assertNull(KafkaOptionNames.nearest("something.else", 3));
  }

  @Test
  void suggestsNothingForAListedName() {
    assertNull(KafkaOptionNames.nearest("startingoffsets", 3));
  }
}
