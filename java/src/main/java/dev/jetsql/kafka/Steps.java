package dev.jetsql.kafka;

import java.util.function.BiConsumer;

/**
 * Where a part is on its way: for the words of an error, and for those who stop it there. Only tests put a listener into
 * the JVM's properties, which all class loaders share.
 */
class Steps {
  static final String LISTENER = "dev.jetsql.kafka.steps";
  private final String job;
  private final long began = System.nanoTime();
  private String step = "";
  boolean reading = true;  // the rows are asked for at this moment, so an error is theirs

  Steps(String job) { this.job = job; }

  void come(String next) {
    step = next;
    reading = false;
    Object listener = System.getProperties().get(LISTENER);
    if (listener != null) ((BiConsumer) listener).accept(next, job);
  }

  String step() { return step; }

  double seconds() { return (System.nanoTime() - began) / 1e9; }
}
