package dev.jetsql;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;

/**
 * Ends Spark's jobs of a group whose results nobody wants any more, those too that it is only about to submit.
 *
 * By itself Spark 4.3 does the latter for actions only: a stage that adaptive execution submits just after its group was
 * cancelled would run to its end, if it has one.
 */
public class GivenUp extends SparkListener {
  private static final String GROUP = "spark.jobGroup.id";
  private static GivenUp listening;

  private final SparkContext context;
  private final Set groups = ConcurrentHashMap.newKeySet();

  private GivenUp(SparkContext context) { this.context = context; }

  /** From any thread; again is fine. A group is never used again. */
  static void end(SparkContext context, String group) {
    of(context).groups.add(group);
    context.cancelJobGroupAndFutureJobs(group);
  }

  private static synchronized GivenUp of(SparkContext context) {
    if (listening == null || listening.context != context) {
      listening = new GivenUp(context);
      context.addSparkListener(listening);
    }
    return listening;
  }

  public void onJobStart(SparkListenerJobStart event) {
    String group = event.properties() == null ? null : event.properties().getProperty(GROUP);
    if (group != null && groups.contains(group)) context.cancelJob(event.jobId());
  }
}
