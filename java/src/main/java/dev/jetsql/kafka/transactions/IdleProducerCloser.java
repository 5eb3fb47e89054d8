package dev.jetsql.kafka.transactions;

import java.util.Iterator;
import org.apache.spark.api.java.function.VoidFunction;

/** A task that closes the idle producers of one job in its executor. */
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
