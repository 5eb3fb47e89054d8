package dev.jetsql.kafka.topics;

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
      if (recorder == null) {
        recorder = TopicIdRecorder.install(reader, request == Request.IN_BATCH);
        if (request == Request.IN_BATCH) TopicIdRecorder.describeAll(reader);
      } else if (request != Request.NONE) {
        recorder.refresh(maxAgeMillis);
      }
      return recorder == null ? Map.of() : recorder.ids();
    }
  }
}
