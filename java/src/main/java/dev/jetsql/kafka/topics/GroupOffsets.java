package dev.jetsql.kafka.topics;

import com.fasterxml.jackson.core.type.TypeReference;
import dev.jetsql.common.Json;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * A client that sets the offsets of a consumer group without members. The class needs Kafka's
 * classes, so Python uses it after the connector is loaded.
 */
public final class GroupOffsets {
  private static final TypeReference<HashMap<String, HashMap<Integer, Long>>> OFFSETS =
      new TypeReference<>() {};

  private final AdminClient client;

  private GroupOffsets(AdminClient client) {
    this.client = client;
  }

  /** Returns a client of a cluster. conf: the settings of the client as JSON */
  public static GroupOffsets open(String conf) throws Exception {
    return new GroupOffsets(AdminClients.open(conf));
  }

  /**
   * Sets the next offsets to read, and waits until the broker has stored them. Throws the errors of
   * Kafka's client; then the broker may have stored those of some partitions.
   *
   * @param offsets the offsets by topic and partition as JSON: {"orders": {"0": 17}}
   */
  public void set(String group, String offsets) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
    Json.MAPPER
        .readValue(offsets, OFFSETS)
        .forEach(
            (topic, partitions) ->
                partitions.forEach(
                    (number, offset) ->
                        next.put(
                            new TopicPartition(topic, number), new OffsetAndMetadata(offset))));
    client.alterConsumerGroupOffsets(group, next).all().get();
  }

  /** Closes the client without waiting for its requests, which fail. */
  public void close() {
    client.close(Duration.ZERO);
  }
}
