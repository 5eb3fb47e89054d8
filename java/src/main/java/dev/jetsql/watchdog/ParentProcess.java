package dev.jetsql.watchdog;

/**
 * Ends this JVM soon after the process that has started it, however that ended.
 *
 * <p>Spark ends by itself when its input closes: it stops all jobs in an orderly way, and deletes
 * its temporary files. A killed engine has no use for an orderly stop, and the next one may start
 * at any moment. A busy thread or a call that waits must not keep this one alive.
 */
public final class ParentProcess {
  private static final long CHECK_MILLIS = 500;

  /** The time in which Spark deletes its temporary files if nothing keeps it from doing so. */
  private static final long GRACE_MILLIS = 2000;

  /** The exit code that shells report for a process that SIGKILL has ended. */
  private static final int KILLED = 137;

  /** The number of a parent that Java cannot find out, as when it may open no more files. */
  private static final long UNKNOWN = -1;

  private static boolean isWatched;

  private ParentProcess() {}

  /**
   * Watches the process that has started this JVM.
   *
   * @param process its number. Nothing is watched if it is not the parent, because another program
   *     has started this JVM for it.
   */
  public static synchronized void watch(long process) {
    if (isWatched || parent() != process) return;
    isWatched = true;
    var watch = new Thread(() -> haltAfter(process), "parent-watch");
    watch.setDaemon(true);
    watch.start();
  }

  private static void haltAfter(long process) {
    for (long now = process; now == process || now == UNKNOWN; now = parent()) sleep(CHECK_MILLIS);
    sleep(GRACE_MILLIS);
    Runtime.getRuntime().halt(KILLED);
  }

  /** Returns the number of the parent; a process whose parent has ended gets another one. */
  private static long parent() {
    return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(UNKNOWN);
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
