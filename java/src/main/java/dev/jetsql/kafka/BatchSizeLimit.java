package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.slf4j.LoggerFactory;

/**
 * Limit the size of a producer's record batches to what their topic accepts. Kafka's client splits
 * a batch that the broker refuses into others of `batch.size`. If these are too large as well, it
 * repeats that until its timeout.
 */
final class BatchSizeLimit {
  private static final String SIZE = "kafka.batch.size";
  private static final String KAFKAS_DEFAULT = "16384";
  private static final String TIMEOUT_MILLIS = "5000";

  private BatchSizeLimit() {}

  /**
   * Lower the size in a writer's options to the topic's limit. If the broker does not report it,
   * the size stays.
   */
  static void apply(Map<String, String> options, String topic) {
    String name = OptionMaps.find(options, SIZE);
    String given = name == null ? KAFKAS_DEFAULT : options.get(name);
    if (!given.matches("[0-9]{1,18}")) return; // the producer reports what is wrong with it
    long largest = largest(topic, options);
    if (Long.parseLong(given) > largest)
      options.put(name == null ? SIZE : name, String.valueOf(largest));
  }

  private static long largest(String topic, Map<String, String> options) {
    try {
      return describe(topic, clientConf(options));
    } catch (ExecutionException e) {
      return unknown(topic, e.getCause());
    } catch (KafkaException e) {
      return unknown(topic, e);
    } catch (InterruptedException e) {
      throw Exceptions.raise(e);
    }
  }

  private static long describe(String topic, Map<String, Object> conf)
      throws ExecutionException, InterruptedException {
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    AdminClient admin = AdminClient.create(conf);
    try {
      var configs = admin.describeConfigs(Collections.singleton(resource)).all().get();
      return Long.parseLong(configs.get(resource).get("max.message.bytes").value());
    } finally {
      admin.close(Duration.ZERO);
    }
  }

  /** Return no limit: the producer, which connects next, reports the error. */
  private static long unknown(String topic, Throwable error) {
    LoggerFactory.getLogger(BatchSizeLimit.class)
        .info("The settings of topic {} are not known: {}", topic, String.valueOf(error));
    return Long.MAX_VALUE;
  }

  private static Map<String, Object> clientConf(Map<String, String> options) {
    Map<String, Object> conf = new HashMap<>();
    options.forEach(
        (name, value) -> {
          if (name.toLowerCase(Locale.ROOT).startsWith("kafka."))
            conf.put(name.substring(6), value);
        });
    conf.put("request.timeout.ms", TIMEOUT_MILLIS);
    conf.put("default.api.timeout.ms", TIMEOUT_MILLIS);
    return conf;
  }
}
