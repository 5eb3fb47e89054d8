package dev.jetsql.kafka.topics;

import com.fasterxml.jackson.core.type.TypeReference;
import dev.jetsql.common.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/**
 * A client that reads the offsets of topics at a time. The class needs Kafka's classes, so Python
 * uses it after the connector is loaded. Its methods throw the errors of Kafka's client.
 */
public final class StartOffsets {
  private static final TypeReference<HashMap<String, List<Integer>>> PARTITIONS =
      new TypeReference<>() {};

  private final AdminClient client;

  private StartOffsets(AdminClient client) {
    this.client = client;
  }

  /** Returns a client of a cluster. conf: the settings of the client as JSON */
  public static StartOffsets open(String conf) throws Exception {
    return new StartOffsets(AdminClients.open(conf));
  }

  /** Returns the partitions of topics as JSON: {"orders": [0, 1]}. names: the topics, JSON */
  public String partitionsOf(String names) throws Exception {
    return Json.write(describe(Json.readTexts(names)));
  }

  /** Returns the partitions of the topics whose whole names match a pattern, see `partitionsOf`. */
  public String partitionsLike(String pattern) throws Exception {
    var matcher = Pattern.compile(pattern);
    var names = new ArrayList<String>();
    for (TopicListing topic : client.listTopics().listings().get())
      if (matcher.matcher(topic.name()).matches()) names.add(topic.name());
    return Json.write(describe(names));
  }

  private Map<String, List<Integer>> describe(List<String> names) throws Exception {
    var partitions = new TreeMap<String, List<Integer>>();
    for (var topic : client.describeTopics(names).allTopicNames().get().values())
      partitions.put(
          topic.name(), topic.partitions().stream().map(each -> each.partition()).toList());
    return partitions;
  }

  /** Returns the first offsets by topic and partition as JSON. partitions: JSON */
  public String first(String partitions) throws Exception {
    return write(offsets(partitions, OffsetSpec.earliest()));
  }

  /** Returns the offsets of the next messages, see `first`. Open transactions are not before. */
  public String next(String partitions) throws Exception {
    return write(offsets(partitions, OffsetSpec.latest()));
  }

  /**
   * Returns the offsets of the first messages with a time or a later one, see `first`. Without one,
   * it is the next message of the partition. The ends are read before: a message that arrives in
   * between has a later offset, and is found by its time.
   */
  public String since(String partitions, long millis) throws Exception {
    var ends = offsets(partitions, OffsetSpec.latest());
    var found = offsets(partitions, OffsetSpec.forTimestamp(millis));
    found.replaceAll((partition, offset) -> offset < 0 ? ends.get(partition) : offset);
    return write(found);
  }

  private Map<TopicPartition, Long> offsets(String partitions, OffsetSpec spec) throws Exception {
    Map<TopicPartition, OffsetSpec> requests = new HashMap<>();
    Json.MAPPER
        .readValue(partitions, PARTITIONS)
        .forEach(
            (topic, numbers) ->
                numbers.forEach(number -> requests.put(new TopicPartition(topic, number), spec)));
    var committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED);
    Map<TopicPartition, Long> offsets = new HashMap<>();
    for (Map.Entry<TopicPartition, ListOffsetsResultInfo> each :
        client.listOffsets(requests, committed).all().get().entrySet())
      offsets.put(each.getKey(), each.getValue().offset());
    return offsets;
  }

  private static String write(Map<TopicPartition, Long> offsets) {
    var byTopic = new TreeMap<String, Map<Integer, Long>>();
    offsets.forEach(
        (partition, offset) ->
            byTopic
                .computeIfAbsent(partition.topic(), topic -> new TreeMap<>())
                .put(partition.partition(), offset));
    return Json.write(byTopic);
  }

  /** Closes the client without waiting for its requests. */
  public void close() {
    client.close(Duration.ZERO);
  }
}
