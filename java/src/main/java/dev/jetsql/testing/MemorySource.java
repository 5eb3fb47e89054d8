package dev.jetsql.testing;

import dev.jetsql.kafka.KafkaTable;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;

/**
 * The stream of a table in memory. A step of the test releases the rows that were written until
 * then, so that all sources of a job get the rows of a step in the same batch.
 */
final class MemorySource implements Table, SupportsRead {
  private final MemoryRows rows;
  private final KafkaTable kafka;
  private final Seq<? extends Attribute> output;
  private final StructType schema;
  private volatile int released;
  private volatile List<InternalRow> batch = List.of();

  /**
   * Creates the source.
   *
   * @param kafka the definition of a Kafka table, whose rows are messages; null for other tables
   */
  MemorySource(
      MemoryRows rows, KafkaTable kafka, Seq<? extends Attribute> output, StructType schema) {
    this.rows = rows;
    this.kafka = kafka;
    this.output = output;
    this.schema = schema;
  }

  /** Releases the rows that were written until now. */
  void release() {
    released = rows.table().written();
  }

  /** Returns the definition of a Kafka table; null for other tables. */
  KafkaTable kafka() {
    return kafka;
  }

  /** Returns the rows of the last batch with rows that was planned, and forgets them. */
  List<InternalRow> takeBatch() {
    var taken = batch;
    batch = List.of();
    return taken;
  }

  @Override
  public String name() {
    return rows.table().name();
  }

  @Override
  @Deprecated
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () ->
        new Scan() {
          @Override
          public StructType readSchema() {
            return schema;
          }

          @Override
          public MicroBatchStream toMicroBatchStream(String checkpoint) {
            return new Stream();
          }
        };
  }

  private final class Stream implements MicroBatchStream {
    @Override
    public Offset latestOffset() {
      return new Position(released);
    }

    @Override
    public Offset initialOffset() {
      return new Position(0);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new Position(Integer.parseInt(json));
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      int from = ((Position) start).rows;
      int to = ((Position) end).rows;
      if (from == to) return new InputPartition[0];
      batch = rows.written(from, to);
      return new InputPartition[] {new Rows(List.copyOf(rows.table().withColumns(batch, output)))};
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return partition -> new Reader(((Rows) partition).rows);
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
  }

  /** The number of rows from the beginning. */
  private static final class Position extends Offset {
    private final int rows;

    Position(int rows) {
      this.rows = rows;
    }

    @Override
    public String json() {
      return Integer.toString(rows);
    }
  }

  private record Rows(List<InternalRow> rows) implements InputPartition {}

  private static final class Reader implements PartitionReader<InternalRow> {
    private final List<InternalRow> rows;
    private int at = -1;

    Reader(List<InternalRow> rows) {
      this.rows = rows;
    }

    @Override
    public boolean next() {
      return ++at < rows.size();
    }

    @Override
    public InternalRow get() {
      return rows.get(at);
    }

    @Override
    public void close() {}
  }
}
