package dev.jetsql.scheduling;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.sql.SparkSession;

/**
 * Cancels job groups whose results are no longer needed, including jobs that Spark has not
 * submitted yet.
 *
 * <p>Spark 4.3 cancels future jobs of a group for actions only. A stage that adaptive execution
 * submits just after its group was cancelled would otherwise continue to run.
 */
public final class CancelledJobGroups extends SparkListener {
  private static final String GROUP = "spark.jobGroup.id";
  private static final int CAPACITY = 1000; // the number that Spark itself stores
  private static CancelledJobGroups listener;

  private final SparkContext context;
  private final Set<String> groups = newest(CAPACITY);

  private CancelledJobGroups(SparkContext context) {
    this.context = context;
  }

  /**
   * Cancels all present and future jobs of a group. Any thread may call it repeatedly. A group is
   * never reused.
   */
  public static void cancel(SparkContext context, String group) {
    of(context).groups.add(group);
    context.cancelJobGroupAndFutureJobs(group);
  }

  /** Cancels all present and future jobs of a group in the session's Spark. */
  public static void cancel(SparkSession session, String group) {
    cancel(session.sparkContext(), group);
  }

  private static synchronized CancelledJobGroups of(SparkContext context) {
    if (listener == null || listener.context != context) {
      listener = new CancelledJobGroups(context);
      context.addSparkListener(listener);
    }
    return listener;
  }

  @Override
  public void onJobStart(SparkListenerJobStart event) {
    String group = event.properties() == null ? null : event.properties().getProperty(GROUP);
    if (group != null && groups.contains(group)) context.cancelJob(event.jobId());
  }

  /**
   * Returns a thread-safe set that drops its oldest elements beyond a capacity. Every cancelled
   * statement adds a group, and the jobs of an old one have ended.
   */
  static Set<String> newest(int capacity) {
    return Collections.synchronizedSet(Collections.newSetFromMap(new Newest(capacity)));
  }

  private static final class Newest extends LinkedHashMap<String, Boolean> {
    private static final long serialVersionUID = 1L;
    private final int capacity;

    Newest(int capacity) {
      this.capacity = capacity;
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
      return size() > capacity;
    }
  }
}
