package dev.jetsql.kafka.transactions;

import java.util.function.BiConsumer;

/**
 * The step that the writer of a part has reached: for error messages, and for fail points of crash
 * tests.
 *
 * <p>Only tests set a listener. It is a system property, which all class loaders of a JVM share.
 */
final class PartProgress {
  private static final String LISTENER = "dev.jetsql.kafka.steps";

  private final String job;
  private final long startNanos = System.nanoTime();
  private final long startPaused = PauseClock.pausedNanos();
  private String step = "";
  private boolean reading = true;

  PartProgress(String job) {
    this.job = job;
  }

  /** Sets the listener of this JVM, a function of (step, name of the job); null removes it. */
  static void listen(BiConsumer<String, String> listener) {
    if (listener == null) System.getProperties().remove(LISTENER);
    else System.getProperties().put(LISTENER, listener);
  }

  /** Records the next step and reports it to the listener. */
  void reached(String next) {
    step = next;
    reading = false;
    @SuppressWarnings("unchecked") // only `listen` sets it
    var listener = (BiConsumer<String, String>) System.getProperties().get(LISTENER);
    if (listener != null) listener.accept(next, job);
  }

  /**
   * Sets whether the writer is reading rows from Spark. An error while it reads is the query's and
   * not Kafka's.
   */
  void setReading(boolean value) {
    reading = value;
  }

  boolean isReading() {
    return reading;
  }

  /** Returns the last step that was reached, or an empty text before the first. */
  String step() {
    return step;
  }

  /** Returns the seconds since the start of the part. */
  double seconds() {
    return (System.nanoTime() - startNanos) / 1e9;
  }

  /** Returns the seconds since the start of the part for which the process was paused. */
  double pausedSeconds() {
    return (PauseClock.pausedNanos() - startPaused) / 1e9;
  }
}
