package dev.jetsql.scheduling;

import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;

/**
 * The tasks that executors run now. A task whose Spark job was cancelled is one of them until it
 * ends, which can take seconds.
 */
public final class RunningTasks {
  private static final long POLL_MILLIS = 20;

  private RunningTasks() {}

  /**
   * Waits until no task of a scheduler pool runs, and returns the number of those that still run
   * when the time is up.
   */
  public static int awaitEnd(SparkContext context, String pool, long millis)
      throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    int running = count(context, pool);
    while (running > 0 && System.nanoTime() < deadline) {
      Thread.sleep(POLL_MILLIS);
      running = count(context, pool);
    }
    return running;
  }

  private static int count(SparkContext context, String pool) {
    if (!(context.taskScheduler() instanceof TaskSchedulerImpl scheduler)) return 0;
    int running = 0;
    for (TaskSetManager tasks : scheduler.taskIdToTaskSetManager().values()) {
      Properties properties = tasks.taskSet().properties();
      if (properties != null && pool.equals(properties.getProperty(FairPools.POOL))) running++;
    }
    return running;
  }
}
