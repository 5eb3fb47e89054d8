package dev.jetsql.kafka.transactions;

import java.util.concurrent.TimeUnit;

/**
 * The time for which this process did not run since the first call: a signal had stopped it, or the
 * machine was frozen. A thread wakes every second and notices when it is late.
 */
final class PauseClock {
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(2);
  private static volatile long pausedNanos;
  private static volatile long woken;
  private static Thread thread;

  private PauseClock() {}

  /** Returns the total time, including a pause that has just ended. */
  static long pausedNanos() {
    start();
    return pausedNanos + late(System.nanoTime());
  }

  private static long late(long now) {
    var late = now - woken - INTERVAL_NANOS;
    return late > LATE_NANOS ? late : 0;
  }

  private static synchronized void start() {
    if (thread != null) return;
    woken = System.nanoTime();
    thread = new Thread(PauseClock::run, "jetsql-pause-clock");
    thread.setDaemon(true);
    thread.start();
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // only this thread writes it
  private static void run() {
    while (true) {
      try {
        Thread.sleep(TimeUnit.NANOSECONDS.toMillis(INTERVAL_NANOS));
      } catch (InterruptedException e) {
        return;
      }
      var now = System.nanoTime();
      pausedNanos += late(now);
      woken = now;
    }
  }
}
