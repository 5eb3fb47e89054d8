package dev.jetsql.common;

import java.util.List;
import java.util.function.Supplier;

/**
 * The plans that JetSQL, Spark and the table formats make by themselves of what the gates have
 * checked: those that read or write a table of another system, those of a query with other
 * operators, which can be programs, and those with which Delta and Iceberg read their logs and
 * change their tables. The gates cannot know them, so they leave them out while a thread makes one.
 */
public final class ApprovedPlans {
  /**
   * The packages of the table formats. Their code calls Spark in many places, also in threads of
   * its own. It analyzes no text of a user but those that the gates check with its statement. Their
   * first classes that Spark calls are in these packages themselves, not in those below.
   */
  private static final List<String> FORMATS =
      List.of("org.apache.spark.sql.delta", "io.delta.tables", "org.apache.iceberg.spark");

  private static final ThreadLocal<Boolean> running = new ThreadLocal<>();
  private static volatile boolean isFormatLoaded;

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
    return running.get() != null || isOfFormat();
  }

  /** Returns whether the code of a table format makes the plan: it is among this thread's calls. */
  private static boolean isOfFormat() {
    return isFormatLoaded()
        && StackWalker.getInstance()
            .walk(
                calls ->
                    calls.map(StackWalker.StackFrame::getClassName).anyMatch(ApprovedPlans::isOf));
  }

  /** Returns whether there can be code of a table format. Without it, no gate walks the calls. */
  private static boolean isFormatLoaded() {
    if (!isFormatLoaded)
      isFormatLoaded =
          hasFormat(Thread.currentThread().getContextClassLoader())
              || hasFormat(ApprovedPlans.class.getClassLoader());
    return isFormatLoaded;
  }

  private static boolean hasFormat(ClassLoader classes) {
    for (var each = classes; each != null; each = each.getParent())
      for (var format : FORMATS) if (each.getDefinedPackage(format) != null) return true;
    return false;
  }

  private static boolean isOf(String className) {
    return FORMATS.stream().anyMatch(format -> isIn(format, className));
  }

  /** Returns whether a class is in the package or in one below it. */
  private static boolean isIn(String format, String className) {
    var end = format.length();
    return className.startsWith(format) && className.length() > end && className.charAt(end) == '.';
  }
}
