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
 * Limits the size of a producer's record batches to the limit of their topic. When the broker
 * refuses a batch, Kafka's client splits it into batches of `batch.size`. If these are too large as
 * well, it repeats this until its timeout.
 */
final class BatchSizeLimit {
  private static final String SIZE = "kafka.batch.size";
  private static final String KAFKAS_DEFAULT = "16384";
  private static final String TIMEOUT_MILLIS = "5000";

  private BatchSizeLimit() {}

  /**
   * Lowers the size in a writer's options to the topic's limit. If the broker does not report the
   * limit, the size does not change.
   */
  static void apply(Map<String, String> options, String topic) {
    String name = OptionMaps.find(options, SIZE);
    String size = name == null ? KAFKAS_DEFAULT : options.get(name);
    if (!size.matches("[0-9]{1,18}")) return; // the producer reports the error
    long largest = largest(topic, options);
    if (Long.parseLong(size) > largest)
      options.put(name == null ? SIZE : name, String.valueOf(largest));
  }

  private static long largest(String topic, Map<String, String> options) {
    try {
      return describe(topic, clientConf(options));
    } catch (ExecutionException e) {
      return logUnknown(topic, e.getCause());
    } catch (KafkaException e) {
      return logUnknown(topic, e);
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

  /** Returns Long.MAX_VALUE, no limit. The producer connects next and reports the error. */
  private static long logUnknown(String topic, Throwable error) {
    LoggerFactory.getLogger(BatchSizeLimit.class)
        .info("Cannot read the settings of topic {}: {}", topic, String.valueOf(error));
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
