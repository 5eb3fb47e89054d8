package dev.jetsql.common;

import java.util.function.Supplier;

/**
 * The plans that JetSQL and Spark make by themselves of what the gates have checked: those that
 * write rows into a table of another system, and those of a query with other operators, which can
 * be programs. The gates cannot know them, so they leave them out while a thread makes one.
 */
public final class ApprovedPlans {
  private static final ThreadLocal<Boolean> running = new ThreadLocal<>();

  private ApprovedPlans() {}

  /** Runs a write of rows whose query was checked, into a table whose right was checked. */
  public static void run(Runnable write) {
    call(
        () -> {
          write.run();
          return null;
        });
  }

  /** Makes a plan of one that was checked, and returns it. */
  public static <T> T call(Supplier<T> make) {
    var outer = running.get();
    running.set(true);
    try {
      return make.get();
    } finally {
      if (outer == null) running.remove();
    }
  }

  /** Returns whether this thread makes a plan of one that was checked. */
  public static boolean isRunning() {
    return running.get() != null;
  }
}
