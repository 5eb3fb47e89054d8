package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Outages;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.slf4j.LoggerFactory;

/**
 * Ends the INSERT of a statement when its broker is away. A producer waits for its broker for two
 * minutes, and each of its tasks occupies a task slot meanwhile. A shorter limit for the producer
 * would also end writes to a slow broker, so the broker is asked.
 */
final class InsertGuard implements AutoCloseable {
  private static final int ATTEMPTS = 2;
  private static final String AWAY = "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE";

  private final KafkaTable table;
  private final SparkContext context;
  private final String tag = "jetsql-insert-" + UUID.randomUUID();
  private final long pauseMillis;
  private final Thread thread;
  private volatile Exception outage;

  /** Guards the Spark jobs of this thread until `close`. */
  InsertGuard(KafkaTable table) {
    this.table = table;
    this.context = table.session().sparkContext();
    this.pauseMillis = Outages.timeoutMillis(table.session().sessionState().conf()) / 2;
    this.thread = new Thread(this::watch, "jetsql-insert-guard");
    context.addJobTag(tag);
    thread.setDaemon(true);
    thread.start();
  }

  /** Returns the error to throw for one of a guarded Spark job. */
  RuntimeException explain(Throwable error) {
    return Exceptions.raise(outage == null ? error : outage);
  }

  @Override
  public void close() {
    thread.interrupt();
    context.removeJobTag(tag);
  }

  private void watch() {
    var failures = 0;
    while (failures < ATTEMPTS) {
      try {
        if (failures == 0) Thread.sleep(pauseMillis);
        KafkaTopicChecks.check(table, "write");
        failures = 0;
      } catch (InterruptedException e) {
        return;
      } catch (Exception e) {
        if (!(e instanceof JetSqlException known) || !known.getCondition().equals(AWAY)) {
          LoggerFactory.getLogger(InsertGuard.class).info("The broker was not checked", e);
          return;
        }
        failures++;
        outage = failures == ATTEMPTS ? e : null;
      }
    }
    context.cancelJobsWithTag(tag);
  }
}
