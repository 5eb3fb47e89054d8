package dev.jetsql.kafka.topics;

import dev.jetsql.common.Json;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * A client that reads the ids of topics. A topic that is deleted and created again has another id.
 * The class needs Kafka's classes, so Python uses it after the connector is loaded.
 */
public final class TopicReader {
  private final AdminClient client;

  private TopicReader(AdminClient client) {
    this.client = client;
  }

  /** Returns a reader for a cluster. conf: the settings of the client as JSON */
  public static TopicReader open(String conf) throws Exception {
    return new TopicReader(AdminClients.open(conf));
  }

  /**
   * Returns the ids by topic as JSON, without topics that do not exist and without ids that the
   * broker does not have. Throws the errors of Kafka's client.
   *
   * @param names the topics as JSON
   */
  public String ids(String names) throws Exception {
    var topics = List.of(Json.MAPPER.readValue(names, String[].class));
    Map<String, String> ids = new HashMap<>();
    for (var topic : client.describeTopics(topics).topicNameValues().entrySet()) {
      Uuid id = idOf(topic.getValue());
      if (isKnown(id)) ids.put(topic.getKey(), id.toString());
    }
    return Json.MAPPER.writeValueAsString(ids);
  }

  private static Uuid idOf(KafkaFuture<TopicDescription> topic) throws Exception {
    try {
      return topic.get().topicId();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnknownTopicOrPartitionException) return Uuid.ZERO_UUID;
      throw e;
    }
  }

  /** Returns the ids of the topics whose whole names match a pattern, see `ids`. */
  public String matchingIds(String pattern) throws Exception {
    var matcher = Pattern.compile(pattern);
    Map<String, String> ids = new HashMap<>();
    for (TopicListing topic : client.listTopics().listings().get()) {
      boolean matches = matcher.matcher(topic.name()).matches();
      if (matches && isKnown(topic.topicId())) ids.put(topic.name(), topic.topicId().toString());
    }
    return Json.MAPPER.writeValueAsString(ids);
  }

  /** Closes the client without waiting for its requests. */
  public void close() {
    client.close(Duration.ZERO);
  }

  /** Returns whether a broker has given an id: brokers before Kafka 2.8 have none. */
  static boolean isKnown(Uuid id) {
    return !id.equals(Uuid.ZERO_UUID);
  }
}
