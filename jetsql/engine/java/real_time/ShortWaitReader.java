package dev.jetsql.realtime;

import java.io.IOException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock$;

/**
 * A reader of real-time mode that looks at the clock while it waits for a record. Spark's own waits for as long as the
 * batch is to last, a minute for example, and doesn't hear that the batch is to end sooner (`RealTime.hurry`).
 */
public class ShortWaitReader implements SupportsRealTimeRead {
  private static final long WAIT_MILLIS = 200;
  private final SupportsRealTimeRead real;

  ShortWaitReader(SupportsRealTimeRead real) { this.real = real; }

  public SupportsRealTimeRead.RecordStatus nextWithTimeout(Long begin, Long millis) throws IOException {
    long end = begin.longValue() + millis.longValue();
    for (long now = begin.longValue(); now < end; now = LowLatencyClock$.MODULE$.getTimeMillis()) {
      Long wait = Long.valueOf(Math.min(end - now, WAIT_MILLIS));
      SupportsRealTimeRead.RecordStatus status = real.nextWithTimeout(Long.valueOf(now), wait);
      if (status.hasRecord()) return status;
    }
    return SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(false);
  }

  public PartitionOffset getOffset() { return real.getOffset(); }
  public boolean next() throws IOException { return real.next(); }
  public Object get() { return real.get(); }
  public void close() throws IOException { real.close(); }
  public CustomTaskMetric[] currentMetricsValues() { return real.currentMetricsValues(); }
  public void initMetricsValues(CustomTaskMetric[] metrics) { real.initMetricsValues(metrics); }
}
