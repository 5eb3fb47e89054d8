package dev.jetsql.rights;

/**
 * The plans by which JetSQL and Spark write rows into a table of another system, after the gates
 * have checked the right on the table. They have the options of the system and not the table, so
 * that the gates cannot know them. While a thread writes, the gates leave its plans out.
 */
public final class ApprovedPlans {
  private static final ThreadLocal<Boolean> running = new ThreadLocal<>();

  private ApprovedPlans() {}

  /** Runs a write of rows whose query was checked, into a table whose right was checked. */
  public static void run(Runnable write) {
    var outer = running.get();
    running.set(true);
    try {
      write.run();
    } finally {
      if (outer == null) running.remove();
    }
  }

  /** Returns whether this thread writes into a table that was checked. */
  public static boolean isRunning() {
    return running.get() != null;
  }
}
