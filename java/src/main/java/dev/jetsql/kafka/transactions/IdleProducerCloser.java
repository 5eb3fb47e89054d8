package dev.jetsql.kafka.transactions;

import java.util.Iterator;
import org.apache.spark.api.java.function.VoidFunction;

/** Close the idle producers of one job in the executor that runs the task. */
final class IdleProducerCloser implements VoidFunction<Iterator<Integer>> {
  private static final long serialVersionUID = 1L;
  private final String idPrefix;

  IdleProducerCloser(String idPrefix) {
    this.idPrefix = idPrefix;
  }

  @Override
  public void call(Iterator<Integer> rows) {
    ProducerPool.close(idPrefix);
  }
}
