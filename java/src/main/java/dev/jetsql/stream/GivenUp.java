package dev.jetsql.stream;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
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
  private static final int KEPT = 1000; // as many as Spark keeps for its part
  private static GivenUp listening;

  private final SparkContext context;
  private final Map groups = Collections.synchronizedMap(new Newest());

  private GivenUp(SparkContext context) { this.context = context; }

  /** From any thread; again is fine. A group is never used again. */
  public static void end(SparkContext context, String group) {
    of(context).groups.put(group, group);
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
    if (group != null && groups.containsKey(group)) context.cancelJob(event.jobId());
  }

  /** Each statement that is left is a group, so old ones are forgotten: what was under way for them has ended. */
  static class Newest extends LinkedHashMap {
    protected boolean removeEldestEntry(Map.Entry eldest) { return size() > KEPT; }
  }
}
