package dev.jetsql.triggers;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;

/**
 * Reads the newest offsets of topics for several idle queries with one request: for those that ask
 * at about the same time, and connect with the same settings. The first of them sends the request
 * with its own client.
 */
final class NewestOffsets {
  private static final Map<Connection, NewestOffsets> OPEN = new ConcurrentHashMap<>();
  private static final Set<String> OF_ONE_CLIENT = Set.of("client.id", "group.id");
  private static final long OPEN_MILLIS = 5;
  private static final int TIMEOUT_MILLIS = 5000;

  private final Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
  private final AtomicBoolean hasSender = new AtomicBoolean();
  private final CompletableFuture<Map<TopicPartition, KafkaFuture<Long>>> sent =
      new CompletableFuture<>();

  private NewestOffsets() {}

  /** What queries have in common that share a request. */
  private record Connection(IsolationLevel isolation, Map<String, Object> settings) {
    static Connection of(KafkaOffsetReaderAdmin reader) {
      var settings = new HashMap<>(reader.driverKafkaParams());
      settings.keySet().removeAll(OF_ONE_CLIENT);
      return new Connection(reader.isolationLevel(), settings);
    }
  }

  /**
   * Returns the newest offsets of partitions. Throws Kafka's error for one of them, such as that of
   * a topic that was deleted.
   */
  static Map<TopicPartition, Long> read(
      KafkaOffsetReaderAdmin reader, Set<TopicPartition> partitions) throws Exception {
    var connection = Connection.of(reader);
    var request = OPEN.compute(connection, (key, open) -> joined(open, partitions));
    if (request.hasSender.compareAndSet(false, true)) {
      try {
        Thread.sleep(OPEN_MILLIS); // for the other queries
      } finally {
        OPEN.remove(connection);
        request.send(reader);
      }
    }
    return request.offsets(partitions);
  }

  private static NewestOffsets joined(NewestOffsets open, Set<TopicPartition> partitions) {
    var request = open == null ? new NewestOffsets() : open;
    for (var each : partitions) request.asked.put(each, OffsetSpec.latest());
    return request;
  }

  private void send(KafkaOffsetReaderAdmin reader) {
    try {
      var options = new ListOffsetsOptions(reader.isolationLevel()).timeoutMs(TIMEOUT_MILLIS);
      var result = reader.admin().listOffsets(asked, options);
      var offsets = new HashMap<TopicPartition, KafkaFuture<Long>>();
      for (var each : asked.keySet())
        offsets.put(each, result.partitionResult(each).thenApply(found -> found.offset()));
      sent.complete(offsets);
    } catch (RuntimeException e) { // the client is closed, because its query ends
      sent.completeExceptionally(e);
    }
  }

  private Map<TopicPartition, Long> offsets(Set<TopicPartition> partitions)
      throws InterruptedException, ExecutionException {
    var offsets = new HashMap<TopicPartition, Long>();
    for (var each : partitions) offsets.put(each, sent.get().get(each).get());
    return offsets;
  }
}
