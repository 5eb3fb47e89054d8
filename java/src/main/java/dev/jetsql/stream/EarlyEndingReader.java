package dev.jetsql.stream;

import dev.jetsql.versions.RealTimeReads;
import java.io.IOException;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.slf4j.LoggerFactory;

/**
 * A Kafka reader of real-time mode whose batch can end early. The connector's reader waits for the
 * next record until the end of the batch, for example one minute. This reader waits in short steps
 * and checks the signal after each.
 *
 * <p>When the next messages no longer exist and `failOnDataLoss` is false, it continues with the
 * earliest existing messages. The connector's reader supports this option in the other modes only.
 */
public final class EarlyEndingReader implements SupportsRealTimeRead<InternalRow> {
  private static final long STEP_MILLIS = 200;
  private static final long EARLIEST = -2; // the connector's notation

  private final PartitionReaderFactory factory;
  private final KafkaBatchInputPartition partition;
  private final BooleanSupplier endsEarly;
  private SupportsRealTimeRead<InternalRow> reader;

  EarlyEndingReader(
      PartitionReaderFactory factory,
      KafkaBatchInputPartition partition,
      BooleanSupplier endsEarly) {
    this.factory = factory;
    this.partition = partition;
    this.endsEarly = endsEarly;
    this.reader = (SupportsRealTimeRead<InternalRow>) factory.createReader(partition);
  }

  /** Waits for a record, as Spark 4.1 calls it. */
  @Override
  public RecordStatus nextWithTimeout(Long millis) throws IOException {
    return nextWithTimeout(LowLatencyClock.getTimeMillis(), millis);
  }

  @Override
  public RecordStatus nextWithTimeout(Long begin, Long millis) throws IOException {
    long until = begin + millis;
    for (long now = begin;
        now < until && !endsEarly.getAsBoolean();
        now = LowLatencyClock.getTimeMillis()) {
      try {
        RecordStatus status = RealTimeReads.next(reader, now, Math.min(until - now, STEP_MILLIS));
        if (status.hasRecord()) return status;
      } catch (OffsetOutOfRangeException lost) {
        if (partition.failOnDataLoss()) throw lost;
        restartAtEarliest(lost);
      }
    }
    return RecordStatus.newStatusWithoutArrivalTime(false);
  }

  private void restartAtEarliest(OffsetOutOfRangeException lost) throws IOException {
    LoggerFactory.getLogger(EarlyEndingReader.class)
        .warn("The next messages no longer exist and are skipped: {}", lost.getMessage());
    reader.close();
    KafkaOffsetRange range = partition.offsetRange();
    var rest =
        new KafkaOffsetRange(
            range.topicPartition(), EARLIEST, range.untilOffset(), range.preferredLoc());
    reader =
        (SupportsRealTimeRead<InternalRow>)
            factory.createReader(
                new KafkaBatchInputPartition(
                    rest,
                    partition.executorKafkaParams(),
                    partition.pollTimeoutMs(),
                    partition.failOnDataLoss(),
                    partition.includeHeaders()));
  }

  @Override
  public PartitionOffset getOffset() {
    return reader.getOffset();
  }

  @Override
  public boolean next() throws IOException {
    return reader.next();
  }

  @Override
  public InternalRow get() {
    return reader.get();
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return reader.currentMetricsValues();
  }

  @Override
  @SuppressWarnings("deprecation") // Spark still calls it
  public void initMetricsValues(CustomTaskMetric[] metrics) {
    reader.initMetricsValues(metrics);
  }
}
