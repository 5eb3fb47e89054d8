package dev.jetsql.stream;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/**
 * Lets Spark's scheduler forget the jobs of rows that are fetched one partition after the other, as Thrift's are.
 *
 * These come after the query has ended for Spark 4.3, which forgets a query's jobs only at its end: it kept some 25 KiB
 * for each such statement for good.
 */
public class LateJobs extends SparkListener {
  private static SparkContext watched;

  private final SparkContext context;
  private final Set running = new HashSet();
  private final Map late = new HashMap();

  private LateJobs(SparkContext context) { this.context = context; }

  public static synchronized void watch(SparkContext context) {
    if (watched == context) return;
    watched = context;
    context.addSparkListener(new LateJobs(context));
  }

  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionStart) {
      running.add(Long.valueOf(((SparkListenerSQLExecutionStart) event).executionId()));
    } else if (event instanceof SparkListenerSQLExecutionEnd) {
      running.remove(Long.valueOf(((SparkListenerSQLExecutionEnd) event).executionId()));
    }
  }

  public void onJobStart(SparkListenerJobStart event) {
    String query = event.properties() == null ? null : event.properties().getProperty("spark.sql.execution.id");
    if (query != null && !running.contains(Long.valueOf(query))) late.put(Integer.valueOf(event.jobId()), Long.valueOf(query));
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    Long query = (Long) late.remove(Integer.valueOf(event.jobId()));
    if (query != null) context.dagScheduler().cleanupQueryJobs(query.longValue());
  }
}
