package dev.jetsql.stream;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;

/** Makes a `ShortWaitReader` where the partition is read. */
public class ShortWaitFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;
  private final PartitionReaderFactory real;
  private final String run;

  ShortWaitFactory(PartitionReaderFactory real, String run) {
    this.real = real;
    this.run = run;
  }

  public PartitionReader createReader(InputPartition partition) {
    return new ShortWaitReader(real, (KafkaBatchInputPartition) partition, EarlyEnd.of(run));
  }
}
