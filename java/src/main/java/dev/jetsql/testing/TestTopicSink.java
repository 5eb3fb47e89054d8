package dev.jetsql.testing;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.KafkaTable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Writes rows to a Kafka topic in memory, as messages in the format of the table. */
final class TestTopicSink implements TestSink {
  private final MemoryTopics topics;
  private final KafkaTable kafka;
  private final boolean keyed;
  private final boolean retracts;
  private Map<List<Object>, InternalRow> result = Map.of();

  /**
   * Creates a sink.
   *
   * @param keyed whether rows are updated and deleted by their keys
   * @param retracts whether each batch has the complete result, whose changes are sent
   */
  TestTopicSink(MemoryTopics topics, KafkaTable kafka, boolean keyed, boolean retracts) {
    this.topics = topics;
    this.kafka = kafka;
    this.keyed = keyed;
    this.retracts = retracts;
  }

  @Override
  public void write(Dataset<Row> rows, long millis) {
    var sent = retracts ? changes(rows) : rows;
    var messages = (Dataset<Row>) kafka.fullMessages(sent, keyed);
    topics.write(kafka, MemoryTables.collect(messages), millis);
  }

  /** Returns the rows that are new or different, and those that are gone, with a mark. */
  private Dataset<Row> changes(Dataset<Row> rows) {
    var columns = rows.schema();
    var before = result;
    var now = byKey(MemoryTables.collect(rows), columns);
    var changes = new ArrayList<InternalRow>();
    now.forEach(
        (key, row) -> {
          if (!row.equals(before.get(key))) changes.add(marked(row, columns, false));
        });
    before.forEach(
        (key, row) -> {
          if (!now.containsKey(key)) changes.add(marked(row, columns, true));
        });
    result = now;
    var marked = columns.add("deleted", DataTypes.BooleanType);
    return MemoryTables.rows(rows.sparkSession(), marked, changes);
  }

  private Map<List<Object>, InternalRow> byKey(List<InternalRow> rows, StructType columns) {
    var bytes = UnsafeProjection.create(columns);
    int[] keys = kafka.keyColumns().stream().mapToInt(kafka.columnNames()::indexOf).toArray();
    var found = new LinkedHashMap<List<Object>, InternalRow>();
    for (var row : rows) {
      var key = new ArrayList<Object>();
      for (int at : keys) {
        var value = row.isNullAt(at) ? null : row.get(at, columns.fields()[at].dataType());
        key.add(value instanceof byte[] given ? ByteBuffer.wrap(given) : value);
      }
      if (found.put(key, bytes.apply(row).copy()) != null)
        throw Exceptions.raise(
            JetSqlException.of(
                "USER_RAISED_EXCEPTION",
                "P0001",
                "The result has several rows with the same "
                    + String.join(", ", kafka.keyColumns())
                    + ", the 'key.columns' of the table."));
    }
    return found;
  }

  private static InternalRow marked(InternalRow row, StructType columns, boolean isDeleted) {
    var values = Arrays.copyOf(values(row, columns), columns.length() + 1);
    values[columns.length()] = isDeleted;
    return new GenericInternalRow(values);
  }

  private static Object[] values(InternalRow row, StructType columns) {
    return CollectionConverters.asJava(row.toSeq(columns)).toArray();
  }
}
