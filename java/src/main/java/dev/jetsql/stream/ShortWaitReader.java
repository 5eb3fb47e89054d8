package dev.jetsql.stream;

import java.io.IOException;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock$;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.slf4j.LoggerFactory;

/**
 * A reader of real-time mode that ends with an `EarlyEnd`. Spark's own waits for the next record for as long as the batch
 * is to last, a minute for example, and can't be told that the batch is to end sooner.
 *
 * It also goes on with what is there when the next messages are gone and `failOnDataLoss` is false, which Spark's own
 * hears of in the other modes only.
 */
public class ShortWaitReader implements SupportsRealTimeRead {
  private static final long WAIT_MILLIS = 200;
  private static final long EARLIEST = -2;  // as the connector writes it

  private final PartitionReaderFactory factory;
  private final KafkaBatchInputPartition partition;
  private final EarlyEnd end;
  private SupportsRealTimeRead real;

  ShortWaitReader(PartitionReaderFactory factory, KafkaBatchInputPartition partition, EarlyEnd end) {
    this.factory = factory;
    this.partition = partition;
    this.end = end;
    this.real = (SupportsRealTimeRead) factory.createReader(partition);
  }

  public SupportsRealTimeRead.RecordStatus nextWithTimeout(Long begin, Long millis) throws IOException {
    long until = begin.longValue() + millis.longValue();
    for (long now = begin.longValue(); now < until && !end.hasCome(); now = LowLatencyClock$.MODULE$.getTimeMillis()) {
      Long wait = Long.valueOf(Math.min(until - now, WAIT_MILLIS));
      try {
        SupportsRealTimeRead.RecordStatus status = real.nextWithTimeout(Long.valueOf(now), wait);
        if (status.hasRecord()) return status;
      } catch (OffsetOutOfRangeException gone) {
        if (partition.failOnDataLoss()) throw gone;
        startOver(gone);
      }
    }
    return SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(false);
  }

  private void startOver(OffsetOutOfRangeException gone) throws IOException {
    LoggerFactory.getLogger(ShortWaitReader.class).warn("Messages are gone that were the next to be read, and are left out: {}",
        gone.getMessage());
    real.close();
    KafkaOffsetRange range = partition.offsetRange();
    KafkaOffsetRange rest = new KafkaOffsetRange(range.topicPartition(), EARLIEST, range.untilOffset(), range.preferredLoc());
    real = (SupportsRealTimeRead) factory.createReader(new KafkaBatchInputPartition(rest, partition.executorKafkaParams(),
        partition.pollTimeoutMs(), partition.failOnDataLoss(), partition.includeHeaders()));
  }

  public PartitionOffset getOffset() { return real.getOffset(); }
  public boolean next() throws IOException { return real.next(); }
  public Object get() { return real.get(); }
  public void close() throws IOException { real.close(); }
  public CustomTaskMetric[] currentMetricsValues() { return real.currentMetricsValues(); }
  public void initMetricsValues(CustomTaskMetric[] metrics) { real.initMetricsValues(metrics); }
}
