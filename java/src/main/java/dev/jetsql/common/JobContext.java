package dev.jetsql.common;

import java.util.function.Supplier;

/** The marks of sessions and threads that work for a job and not for a client. */
public final class JobContext {
  /** The setting that marks the session of a job's run. */
  public static final String JOB_CONF = "spark.jetsql.job";

  /** The setting with the owner of the job in the session of a run. No user can set it. */
  public static final String OWNER_CONF = "spark.jetsql.owner";

  /**
   * The value of the option `maxFileAge` for jobs. By default Spark's file source silently skips
   * files that are a week older than the newest one.
   */
  public static final String ANY_AGE = "3650000d";

  private static final ThreadLocal<Boolean> analyzing = new ThreadLocal<>();

  private JobContext() {}

  /**
   * Returns whether this thread analyzes the body of a job. Only a job's INSERT may read a stream.
   */
  public static boolean isAnalyzing() {
    return analyzing.get() != null;
  }

  /** Runs an analysis with `isAnalyzing` set for this thread. */
  public static <T> T analyze(Supplier<T> analysis) {
    analyzing.set(true);
    try {
      return analysis.get();
    } finally {
      analyzing.remove();
    }
  }
}
