package dev.jetsql.kafka.transactions;

import java.util.function.BiConsumer;

/**
 * The step that the writer of a part has reached: for error messages, and for fail points of crash
 * tests.
 *
 * <p>Only tests set a listener. It is in the system properties because all class loaders of a JVM
 * share these.
 */
final class PartProgress {
  private static final String LISTENER = "dev.jetsql.kafka.steps";

  private final String job;
  private final long began = System.nanoTime();
  private String step = "";
  private boolean reading = true;

  PartProgress(String job) {
    this.job = job;
  }

  /** Set the listener of this JVM, a function of (step, name of the job); null removes it. */
  static void listen(BiConsumer<String, String> listener) {
    if (listener == null) System.getProperties().remove(LISTENER);
    else System.getProperties().put(LISTENER, listener);
  }

  /** Note the next step and report it to the listener. */
  void reached(String next) {
    step = next;
    reading = false;
    @SuppressWarnings("unchecked") // `listen` is the only one that sets it
    var listener = (BiConsumer<String, String>) System.getProperties().get(LISTENER);
    if (listener != null) listener.accept(next, job);
  }

  /**
   * Set whether Spark is asked for rows at this moment: an error is the query's then and none of
   * Kafka's.
   */
  void setReading(boolean value) {
    reading = value;
  }

  boolean isReading() {
    return reading;
  }

  String step() {
    return step;
  }

  double seconds() {
    return (System.nanoTime() - began) / 1e9;
  }
}
