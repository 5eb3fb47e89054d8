package dev.jetsql.common;

import java.util.function.Supplier;

/** How sessions and threads that work for a job differ from those of clients. */
public final class JobContext {
  /** Set in the sessions that runs of jobs use. */
  public static final String JOB_CONF = "spark.jetsql.job";

  /**
   * The option `maxFileAge` for jobs: Spark's file source silently skips files a week older than
   * the newest one.
   */
  public static final String ANY_AGE = "3650000d";

  private static final ThreadLocal<Boolean> analyzing = new ThreadLocal<>();

  private JobContext() {}

  /**
   * Return whether this thread analyzes the body of a job, which may read streams that a client's
   * INSERT may not.
   */
  public static boolean isAnalyzing() {
    return analyzing.get() != null;
  }

  /** Do something as the analysis of a job. */
  public static <T> T analyze(Supplier<T> analysis) {
    analyzing.set(true);
    try {
      return analysis.get();
    } finally {
      analyzing.remove();
    }
  }
}
