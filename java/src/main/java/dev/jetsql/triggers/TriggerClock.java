package dev.jetsql.triggers;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Reflection;
import dev.jetsql.kafka.KafkaQueryStop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.ProcessingTimeExecutor;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.util.Clock;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The clock of the triggers of an idle query. After two triggers without a batch, it lets the next
 * one begin only when a source may have rows, which it checks in the interval of the query. So a
 * job that has nothing to do costs little.
 *
 * <p>A trigger begins in any case after a while, when a statement waits for one, and when a check
 * fails, so that Spark handles the error. Queries whose batches depend on the time have all their
 * triggers.
 */
public final class TriggerClock implements Clock {
  private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(2);
  private static final long SHORTEST_MILLIS = 10;

  private final MicroBatchExecution query;
  private final long pauseMillis;
  private final Semaphore wakes = new Semaphore(0);
  private List<SourceProbe> probes;
  private Object committed;
  private boolean isMarked;

  private TriggerClock(MicroBatchExecution query, long intervalMillis) {
    this.query = query;
    this.pauseMillis = Math.max(intervalMillis, SHORTEST_MILLIS);
  }

  /** Gives a query that was idle this clock, if it has an interval. query: null if it has ended */
  public static void install(StreamingQuery query) {
    var executor = query == null ? null : executor(query);
    if (executor == null || executor.clock() instanceof TriggerClock) return;
    long millis = executor.processingTimeTrigger().intervalMs();
    if (millis == 0) return; // Spark has no clock then
    var execution = (MicroBatchExecution) ((StreamingQueryWrapper) query).streamingQuery();
    var clock = new TriggerClock(execution, millis);
    try {
      Reflection.field(ProcessingTimeExecutor.class, "clock").set(executor, clock);
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Lets the next trigger of a query begin as soon as its interval allows it. */
  public static void wake(StreamingQuery query) {
    var executor = executor(query);
    if (executor != null && executor.clock() instanceof TriggerClock clock) clock.wakes.release();
  }

  private static ProcessingTimeExecutor executor(StreamingQuery query) {
    return ((StreamingQueryWrapper) query).streamingQuery() instanceof MicroBatchExecution execution
            && execution.triggerExecutor() instanceof ProcessingTimeExecutor executor
        ? executor
        : null;
  }

  @Override
  public long getTimeMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  /** Waits for the time of the next trigger, and then until it may have rows. */
  @Override
  public long waitTillTime(long target) {
    try {
      for (long left; (left = target - getTimeMillis()) > 0; ) Thread.sleep(left);
      var before = committed;
      committed = query.committedOffsets(); // a new object after each batch
      boolean wasIdle = before == committed && followsSourcesOnly();
      if (wasIdle && isMarked) awaitRows();
      wakes.drainPermits();
      isMarked = wasIdle && mark();
    } catch (InterruptedException e) {
      throw Exceptions.raise(e); // Spark stops a query by this exception
    }
    return getTimeMillis();
  }

  /**
   * Returns whether time alone never gives the query a batch, as a watermark of idle sources does.
   */
  private boolean followsSourcesOnly() {
    return query.watermarkTracker() != null
        && query.watermarkTracker().getClass() == WatermarkTracker.class;
  }

  private void awaitRows() throws InterruptedException {
    long end = System.nanoTime() + LONGEST_NANOS;
    while (System.nanoTime() < end && !mayHaveRows()) {
      // Queries with the same interval check at the same time, and share the requests of their
      // probes.
      long pause = pauseMillis - System.currentTimeMillis() % pauseMillis;
      if (wakes.tryAcquire(pause, TimeUnit.MILLISECONDS)) return;
    }
  }

  private boolean mark() throws InterruptedException {
    try {
      if (probes == null) probes = probes();
      boolean areMarked = !probes.isEmpty();
      for (var each : probes) areMarked = areMarked && each.mark();
      return areMarked;
    } catch (Exception e) {
      return reportFailure(e);
    }
  }

  private boolean mayHaveRows() throws InterruptedException {
    try {
      for (var each : probes) if (each.mayHaveRows()) return true;
      return false;
    } catch (Exception e) {
      return !reportFailure(e);
    }
  }

  /** Logs the failure of a check, after which a trigger begins. Returns false. */
  private boolean reportFailure(Exception e) throws InterruptedException {
    if (Thread.interrupted() || e instanceof InterruptedException) throw new InterruptedException();
    LoggerFactory.getLogger(TriggerClock.class)
        .debug("Cannot check the sources of the query {}, which begins a trigger", query.name(), e);
    return false;
  }

  /** Returns the probes of all sources; none if one of the sources has no probe. */
  private List<SourceProbe> probes() throws ReflectiveOperationException {
    var topics = KafkaQueryStop.kafkaSources(query);
    var found = new ArrayList<SourceProbe>();
    int number = 0;
    for (SparkDataStream source : CollectionConverters.asJava(query.sources())) {
      var topic = topics.get(number++);
      var probe =
          topic != null
              ? new TopicProbe(query, source, topic)
              : source instanceof FileStreamSource files ? FolderProbe.of(files) : null;
      if (probe == null) return List.of();
      found.add(probe);
    }
    return found;
  }
}
