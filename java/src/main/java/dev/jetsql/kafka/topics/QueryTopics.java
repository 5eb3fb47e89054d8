package dev.jetsql.kafka.topics;

import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.kafka.KafkaQueryStop;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;
import org.apache.spark.sql.streaming.StreamingQuery;

/** The ids of the topics that a running query reads. */
public final class QueryTopics {
  private QueryTopics() {}

  /**
   * Returns the ids by source and topic as JSON: {"0": {"orders": "..."}}. The source's number is
   * that in the query's offsets. Without a request: the ids are those of the newest trigger, and
   * none are known before the first trigger after the first call.
   */
  public static String ids(StreamingQuery query) throws Exception {
    return Json.MAPPER.writeValueAsString(read(query, Request.NONE, 0));
  }

  /**
   * Returns the ids as `ids` does, at most so old. Throws the errors of Kafka's client.
   *
   * @param inBatch whether the query's thread waits for the caller, as in `foreachBatch`. Then the
   *     ids are also requested if none are known
   */
  public static String freshIds(StreamingQuery query, boolean inBatch, long maxAgeMillis)
      throws Exception {
    var request = inBatch ? Request.IN_BATCH : Request.KNOWN_TOPICS;
    return Json.MAPPER.writeValueAsString(read(query, request, maxAgeMillis));
  }

  /**
   * Checks that the topics of a query are those of the last call, for a query without restarts.
   *
   * @param known the ids of the last calls by source and topic, to which new ones are added
   * @param inBatch see `freshIds`
   */
  public static void check(
      StreamingQuery query, Map<String, Map<String, String>> known, boolean inBatch)
      throws Exception {
    if (KafkaQueryStop.kafkaSources(execution(query)).isEmpty()) return;
    var now = read(query, inBatch ? Request.IN_BATCH : Request.NONE, Long.MAX_VALUE);
    for (var source : now.entrySet()) {
      var before = known.computeIfAbsent(source.getKey(), number -> new HashMap<>());
      for (var topic : source.getValue().entrySet()) {
        String id = before.putIfAbsent(topic.getKey(), topic.getValue());
        if (id != null && !id.equals(topic.getValue()))
          throw replaced(topic.getKey(), id, topic.getValue());
      }
    }
  }

  private static JetSqlException replaced(String topic, String before, String now) {
    return JetSqlException.of(
        "SOURCE_CHANGED",
        "55000",
        "The topic "
            + topic
            + " was deleted and created again while it was read: its id was "
            + before
            + ", and is "
            + now
            + ". Run the SELECT again to read the new topic.");
  }

  private enum Request {
    NONE,
    KNOWN_TOPICS,
    IN_BATCH
  }

  private static StreamExecution execution(StreamingQuery query) {
    return ((StreamingQueryWrapper) query).streamingQuery();
  }

  private static Map<String, Map<String, String>> read(
      StreamingQuery query, Request request, long maxAgeMillis) throws Exception {
    Map<String, Map<String, String>> ids = new HashMap<>();
    if (!query.isActive()) return ids;
    for (var source : KafkaQueryStop.kafkaSources(execution(query)).entrySet()) {
      ids.put(source.getKey().toString(), Source.read(source.getValue(), request, maxAgeMillis));
    }
    return ids;
  }

  /** The code that needs the connector's classes. */
  private static final class Source {
    static Map<String, String> read(Object source, Request request, long maxAgeMillis)
        throws Exception {
      if (!(((KafkaMicroBatchStream) source).kafkaOffsetReader()
          instanceof KafkaOffsetReaderAdmin reader)) return Map.of();
      var recorder = TopicIdRecorder.find(reader);
      if (recorder == null) recorder = TopicIdRecorder.install(reader, request == Request.IN_BATCH);
      if (recorder == null) return Map.of();
      if (request == Request.IN_BATCH && !recorder.hasDescriptions()) {
        TopicIdRecorder.describeAll(reader);
      } else if (request != Request.NONE) {
        recorder.refresh(maxAgeMillis);
      }
      return recorder.ids();
    }
  }
}
