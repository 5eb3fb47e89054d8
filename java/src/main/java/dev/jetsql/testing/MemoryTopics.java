package dev.jetsql.testing;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.kafka.KafkaTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** The Kafka topics of a unit test. As in Kafka, all tables of a topic share its messages. */
final class MemoryTopics {
  private static final int TOPIC = 2;
  private static final int PARTITION = 3;

  private final Map<String, MemoryTable> brokers = new ConcurrentHashMap<>();

  /** Returns all messages of the brokers that a table's options name. */
  MemoryTable brokers(KafkaTable table) {
    var servers = table.option("kafka.bootstrap.servers");
    return brokers.computeIfAbsent(
        servers == null ? "" : servers,
        key -> new MemoryTable(key, KafkaTable.MESSAGE_WITH_HEADERS));
  }

  /** Returns the messages that a table reads. */
  MemoryRows messages(KafkaTable table) {
    return new MemoryRows(brokers(table), isRead(table));
  }

  private static Predicate<InternalRow> isRead(KafkaTable table) {
    if (table.topic() != null) return row -> table.topic().equals(topic(row));
    var topics = table.option("subscribe");
    if (topics != null) {
      var named = Arrays.stream(topics.split(",")).map(String::strip).toList();
      return row -> named.contains(topic(row));
    }
    var pattern = table.option("subscribePattern");
    if (pattern != null) {
      var compiled = Pattern.compile(pattern);
      return row -> compiled.matcher(topic(row)).matches();
    }
    var assigned = Json.readObject(table.option("assign"));
    return row -> contains(assigned.path(topic(row)), row.getInt(PARTITION));
  }

  private static boolean contains(JsonNode partitions, int partition) {
    for (var each : partitions) if (each.asInt() == partition) return true;
    return false;
  }

  private static String topic(InternalRow message) {
    return message.isNullAt(TOPIC) ? "" : message.getUTF8String(TOPIC).toString();
  }

  /**
   * Writes messages, with an offset in the partition of the topic.
   *
   * @param encoded rows with the fields of `KafkaTable.fullMessages`
   * @param millis the time of the messages
   */
  void write(KafkaTable table, List<InternalRow> encoded, long millis) {
    var log = brokers(table);
    var added = new ArrayList<InternalRow>();
    for (var row : encoded) {
      var topic = row.isNullAt(3) ? table.topic() : row.getUTF8String(3).toString();
      if (topic == null)
        throw Exceptions.raise(
            JetSqlException.of(
                "INVALID_TEST",
                "42601",
                "A message for "
                    + table.name()
                    + " has no topic: neither the table nor the row"
                    + " names one."));
      int partition = row.isNullAt(4) ? 0 : row.getInt(4);
      long offset =
          log.written(0).stream().filter(each -> isIn(each, topic, partition)).count()
              + added.stream().filter(each -> isIn(each, topic, partition)).count();
      added.add(
          new GenericInternalRow(
              new Object[] {
                row.isNullAt(0) ? null : row.getBinary(0),
                row.isNullAt(1) ? null : row.getBinary(1),
                UTF8String.fromString(topic),
                partition,
                offset,
                millis * 1000,
                0,
                row.isNullAt(2) ? null : row.getArray(2).copy()
              }));
    }
    log.append(added);
  }

  private static boolean isIn(InternalRow message, String topic, int partition) {
    return message.getInt(PARTITION) == partition && topic(message).equals(topic);
  }
}
