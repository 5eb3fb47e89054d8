package dev.jetsql.testing;

import dev.jetsql.common.Exceptions;
import java.util.concurrent.TimeUnit;
import org.apache.spark.util.Clock;

/**
 * The clock of a job in a unit test. It moves only when the test moves it, and the job's query
 * waits with it between its triggers until a step of the test lets the next one begin.
 */
final class TestClock implements Clock {
  private volatile long millis;
  private boolean mayTrigger;
  private boolean waits;

  TestClock(long millis) {
    this.millis = millis;
  }

  void set(long millis) {
    this.millis = millis;
  }

  @Override
  public long getTimeMillis() {
    return millis;
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public synchronized long waitTillTime(long target) {
    waits = true;
    notifyAll();
    try {
      while (!mayTrigger) wait();
    } catch (InterruptedException e) {
      throw Exceptions.raise(e); // Spark stops a query by this exception
    }
    mayTrigger = false;
    waits = false;
    return millis;
  }

  /** Lets the next trigger begin. */
  synchronized void trigger() {
    mayTrigger = true;
    waits = false;
    notifyAll();
  }

  /** Waits until a trigger has ended, at most so long. Returns whether it has. */
  synchronized boolean awaitEnd(long millis) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    for (long left = millis; !waits && left > 0; left = millisUntil(end)) wait(left);
    return waits;
  }

  private static long millisUntil(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos - System.nanoTime());
  }
}
