package dev.jetsql.stream;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;

/** Creates an {@link EarlyEndingReader} on the executor that reads the partition. */
public final class EarlyEndingReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;
  private final PartitionReaderFactory connector;
  private final String run;

  EarlyEndingReaderFactory(PartitionReaderFactory connector, String run) {
    this.connector = connector;
    this.run = run;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    return new EarlyEndingReader(
        connector, (KafkaBatchInputPartition) partition, EarlyBatchEndSignal.of(run)::isSet);
  }
}
