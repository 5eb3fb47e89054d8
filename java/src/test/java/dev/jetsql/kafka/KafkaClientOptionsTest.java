package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KafkaClientOptionsTest {
  @ParameterizedTest
  @CsvSource({
    "linger.ms, 20",
    "acks, all",
    "max.poll.records, 10",
    "sasl.jaas.config, anything",
    "no.such.option, x"
  })
  void acceptsValuesOfTheRightType(String option, String value) {
    assertNull(KafkaClientOptions.refusedType(option, value));
  }

  @ParameterizedTest
  @CsvSource({
    "linger.ms, soon, LONG",
    "max.poll.records, 0, INT",
    "enable.idempotence, perhaps, BOOLEAN",
    "compression.type, zip, STRING"
  })
  void returnsTheTypeThatAClientExpects(String option, String value, String type) {
    assertEquals(type, KafkaClientOptions.refusedType(option, value));
  }
}
