package dev.jetsql.testing;

import dev.jetsql.common.Json;
import dev.jetsql.kafka.KafkaTable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes the rows of a job, or of an INSERT, to a table in memory as the sinks of jobs do. */
public final class TestSink {
  private final MemoryTable table;
  private final KafkaTable kafka;
  private final String write;
  private final List<String> columns;
  private final boolean deletes;

  /**
   * Creates a sink.
   *
   * @param kafka the definition of a Kafka table, whose rows are messages; null for other tables
   * @param write `append`, `replace` the table or `partitions`, or `update` rows by keys
   * @param columns the key columns, or those of the partitions, a JSON array
   * @param deletes whether the last column marks deletions
   */
  public TestSink(
      MemoryTable table, KafkaTable kafka, String write, String columns, boolean deletes) {
    this.table = table;
    this.kafka = kafka;
    this.write = write;
    this.columns = Json.readTexts(columns);
    this.deletes = deletes;
  }

  /** Writes rows. millis: the time of the test's clock */
  void write(Dataset<Row> rows, long millis) {
    if (kafka != null) {
      table.append(messages(rows, millis));
      return;
    }
    var written = MemoryTables.collect(rows);
    switch (write) {
      case "replace" -> table.replace(written);
      case "partitions" -> table.replacePartitions(written, columns);
      case "update" -> table.update(written, columns, deletes);
      default -> table.append(written);
    }
  }

  private List<InternalRow> messages(Dataset<Row> rows, long millis) {
    var messages = new ArrayList<InternalRow>();
    for (var row :
        MemoryTables.collect((Dataset<Row>) kafka.fullMessages(rows, write.equals("update")))) {
      long offset = (long) table.written() + messages.size();
      var topic = row.isNullAt(3) ? kafka.topic() : row.getUTF8String(3).toString();
      messages.add(
          new GenericInternalRow(
              new Object[] {
                row.isNullAt(0) ? null : row.getBinary(0),
                row.isNullAt(1) ? null : row.getBinary(1),
                topic == null ? null : UTF8String.fromString(topic),
                row.isNullAt(4) ? 0 : row.getInt(4),
                offset,
                millis * 1000,
                0,
                row.isNullAt(2) ? null : row.getArray(2)
              }));
    }
    return messages;
  }
}
