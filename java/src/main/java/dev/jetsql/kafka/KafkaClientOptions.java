package dev.jetsql.kafka;

import java.util.List;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;

/**
 * Checks values of Kafka's client options as the clients do. A client quotes a value that it
 * refuses, so JetSQL checks the value of a secret first.
 *
 * <p>The class needs Kafka's classes: use it only after `KafkaConnector.load`.
 */
final class KafkaClientOptions {
  private KafkaClientOptions() {}

  /**
   * Returns the type that a client expects for an option, or null if all clients accept the value.
   */
  static String refusedType(String option, String value) {
    for (ConfigDef client : clients()) {
      ConfigKey key = client.configKeys().get(option);
      if (key != null && !accepts(key, option, value)) return String.valueOf(key.type);
    }
    return null;
  }

  private static List<ConfigDef> clients() {
    return List.of(
        ConsumerConfig.configDef(), ProducerConfig.configDef(), AdminClientConfig.configDef());
  }

  private static boolean accepts(ConfigKey key, String option, String value) {
    try {
      Object parsed = ConfigDef.parseType(option, value, key.type);
      if (key.validator != null) key.validator.ensureValid(option, parsed);
      return true;
    } catch (RuntimeException e) {
      return false;
    }
  }
}
