package dev.jetsql.testing;

import dev.jetsql.common.Json;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;

/** Writes the rows of a job, or of an INSERT, to a table in memory as the sinks of jobs do. */
public interface TestSink {
  /** Writes rows. millis: the time of the test's clock */
  void write(Dataset<Row> rows, long millis);

  /** The sink of all tables but topics. */
  final class OfTable implements TestSink {
    private final MemoryTable table;
    private final String write;
    private final List<String> columns;
    private final boolean deletes;

    /**
     * Creates a sink.
     *
     * @param write `append`, `replace` the table or `partitions`, or `update` rows by keys
     * @param columns the key columns, or those of the partitions, a JSON array
     * @param deletes whether the last column marks deletions
     */
    OfTable(MemoryTable table, String write, String columns, boolean deletes) {
      this.table = table;
      this.write = write;
      this.columns = Json.readTexts(columns);
      this.deletes = deletes;
    }

    @Override
    public void write(Dataset<Row> rows, long millis) {
      var written = MemoryTables.collect(rows);
      switch (write) {
        case "replace" -> table.replace(written);
        case "partitions" -> table.replacePartitions(written, columns);
        case "update" -> table.update(written, columns, deletes);
        default -> table.append(written);
      }
    }
  }
}
