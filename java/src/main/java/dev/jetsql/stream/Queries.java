package dev.jetsql.stream;

import dev.jetsql.kafka.KafkaQueryStop;
import java.lang.reflect.Field;
import java.util.function.BiConsumer;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.StreamingQueryManager;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitLog;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog;
import org.apache.spark.sql.execution.streaming.runtime.AsyncProgressTrackingMicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.execution.streaming.runtime.TERMINATED$;
import org.apache.spark.sql.streaming.StreamingQuery;

/**
 * The end of streaming queries: graceful stops, failures, and the listeners that Spark leaves
 * registered.
 */
public final class Queries {
  private static final long POLL_MILLIS = 20;

  private Queries() {}

  /**
   * Stop a query between two batches, and wait until its thread has ended. Spark commits the
   * running batch of a query whose state is `TERMINATED` and begins no other; a query that sleeps
   * between triggers is woken. Returns false when the deadline has passed and the query was
   * interrupted.
   */
  public static boolean stop(StreamingQuery query, long deadlineMillis) throws Exception {
    StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
    execution.state().set(TERMINATED$.MODULE$);
    boolean graceful = awaitQuiet(query, execution.queryExecutionThread(), deadlineMillis);
    KafkaQueryStop.stop(query);
    if (execution instanceof AsyncProgressTrackingMicroBatchExecution async
        && !execution.queryExecutionThread().isAlive()) {
      logNewestBatch(async);
    }
    return graceful;
  }

  /** Return whether the query's thread ended or fell asleep before the deadline. */
  private static boolean awaitQuiet(StreamingQuery query, Thread thread, long deadlineMillis)
      throws InterruptedException {
    long deadline = System.nanoTime() + deadlineMillis * 1000000L;
    int quiet = 0;
    while (thread.isAlive() && quiet < 2 && System.nanoTime() < deadline) {
      thread.join(POLL_MILLIS);
      // A trigger that saw the query active just before may be about to begin: quiet twice in a row
      // means asleep.
      quiet = query.status().isTriggerActive() ? 0 : quiet + 1;
    }
    return !thread.isAlive() || quiet >= 2;
  }

  /**
   * Log the newest committed batch of a query with asynchronous progress tracking. Spark keeps the
   * batches since its last log entry in memory, also when it stops the query, so the next run would
   * write them again.
   */
  private static void logNewestBatch(AsyncProgressTrackingMicroBatchExecution execution) {
    if (execution.lastProgress() == null) return;
    String root = execution.resolvedCheckpointRoot();
    var session = execution.sparkSessionForStream();
    // The progress of a trigger without rows has the number of the batch to come.
    long newest = execution.lastProgress().batchId();
    for (long batch = newest; batch >= 0 && batch > newest - 2; batch--) {
      var offsets = execution.offsetLog().get(batch);
      var commit = execution.commitLog().get(batch);
      if (offsets.isEmpty() || commit.isEmpty()) continue;
      new OffsetSeqLog(session, root + "/offsets", false).add(batch, offsets.get());
      new CommitLog(session, root + "/commits", false).add(batch, commit.get());
      return;
    }
  }

  /** Report the progress of the session's queries to the engine. */
  public static QueryListener listen(SparkSession session, BiConsumer<String, String> engine) {
    var listener = new QueryListener(engine);
    session.streams().addListener(listener);
    return listener;
  }

  /** Remove the listener from a session that ends, and the session's own listener from Spark. */
  public static void release(SparkSession session, QueryListener listener)
      throws ReflectiveOperationException {
    session.streams().removeListener(listener);
    release(session);
  }

  /**
   * Remove the listener that Spark registers for every session with streaming queries and never
   * removes.
   */
  static void release(SparkSession session) throws ReflectiveOperationException {
    StreamingQueryManager manager = session.sessionState().streamingQueryManager();
    Field bus = StreamingQueryManager.class.getDeclaredField("listenerBus");
    bus.setAccessible(true);
    session.sparkContext().listenerBus().removeListener((SparkListenerInterface) bus.get(manager));
  }

  /** Return the error that ended a query, or null when it ended without one. */
  public static Throwable failure(StreamingQuery query) {
    return query.exception().isDefined() ? query.exception().get() : null;
  }
}
