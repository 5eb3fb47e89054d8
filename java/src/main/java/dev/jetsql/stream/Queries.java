package dev.jetsql.stream;

import dev.jetsql.common.Reflection;
import dev.jetsql.kafka.KafkaQueryStop;
import dev.jetsql.triggers.TriggerClock;
import dev.jetsql.versions.SparkCalls;
import java.lang.reflect.Field;
import java.util.function.BiConsumer;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.StreamingQueryManager;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.streaming.runtime.AsyncProgressTrackingMicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.INITIALIZING$;
import org.apache.spark.sql.execution.streaming.runtime.ProcessingTimeExecutor;
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
   * Stops a query between two batches, and waits until its thread has ended. With the state
   * `TERMINATED`, Spark commits the running batch of a query and begins no other. A query that
   * sleeps between triggers, or has not begun its first one, is interrupted. Returns false when the
   * deadline has passed and the running batch was interrupted.
   */
  public static boolean stop(StreamingQuery query, long deadlineMillis) throws Exception {
    StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
    // A query that is still initialized reads the new state before its first trigger, and ends.
    boolean graceful =
        execution.state().compareAndSet(INITIALIZING$.MODULE$, TERMINATED$.MODULE$)
            || awaitQuiet(execution, deadlineMillis);
    KafkaQueryStop.stop(query);
    if (execution instanceof AsyncProgressTrackingMicroBatchExecution async
        && !execution.queryExecutionThread().isAlive()) {
      logNewestBatch(async);
    }
    return graceful;
  }

  /** Lets a query end after its running batch. Its thread must not sleep between triggers. */
  public static void finish(StreamingQuery query) {
    ((StreamingQueryWrapper) query).streamingQuery().state().set(TERMINATED$.MODULE$);
  }

  /**
   * Returns whether the query's thread ended or slept between triggers before the deadline. The
   * state changes when no batch is being planned, because Spark would interrupt this batch.
   */
  private static boolean awaitQuiet(StreamExecution execution, long deadlineMillis)
      throws InterruptedException {
    Thread thread = execution.queryExecutionThread();
    long deadline = System.nanoTime() + deadlineMillis * 1000000L;
    while (thread.isAlive() && System.nanoTime() < deadline) {
      StackTraceElement[] frames = thread.getStackTrace();
      if (!plansBatch(frames)) execution.state().set(TERMINATED$.MODULE$);
      if (sleepsBetweenTriggers(frames)) return true;
      thread.join(POLL_MILLIS);
    }
    return !thread.isAlive();
  }

  /** Returns whether the thread of a query is in a trigger whose batch is not executed yet. */
  private static boolean plansBatch(StackTraceElement[] frames) {
    boolean isInTrigger = false;
    for (StackTraceElement frame : frames) {
      String name = frame.getClassName();
      if (name.equals(SQLExecution$.class.getName())) return false; // it executes the batch
      isInTrigger |= frame.getMethodName().equals("executeOneBatch");
    }
    return isInTrigger && !frames[0].getMethodName().equals("sleep");
  }

  /** Returns whether the thread of a query with an interval waits for its next trigger. */
  private static boolean sleepsBetweenTriggers(StackTraceElement[] frames) {
    for (int at = 0; at + 1 < frames.length; at++) {
      if (frames[at].getMethodName().equals("waitTillTime")) {
        return frames[at + 1].getClassName().equals(ProcessingTimeExecutor.class.getName());
      }
    }
    return false;
  }

  /**
   * Writes the newest committed batch of a query with asynchronous progress tracking to its logs.
   * Spark keeps the batches since its last log entry in memory, even when it stops the query, so
   * that the next run would write them again.
   */
  private static void logNewestBatch(AsyncProgressTrackingMicroBatchExecution execution) {
    if (execution.lastProgress() == null) return;
    String root = execution.resolvedCheckpointRoot();
    var session = execution.sparkSessionForStream();
    // The progress of a trigger without rows has the number of the next batch.
    long newest = execution.lastProgress().batchId();
    for (long batch = newest; batch >= 0 && batch > newest - 2; batch--) {
      var offsets = SparkCalls.entry(execution.offsetLog(), batch);
      var commit = SparkCalls.entry(execution.commitLog(), batch);
      if (offsets.isEmpty() || commit.isEmpty()) continue;
      SparkCalls.offsetLog(session, root + "/offsets").add(batch, offsets.get());
      SparkCalls.commitLog(session, root + "/commits").add(batch, commit.get());
      return;
    }
  }

  /**
   * Adds and returns a listener that reports the progress of the session's queries to the engine.
   */
  public static QueryListener listen(SparkSession session, BiConsumer<String, String> engine) {
    var listener =
        new QueryListener(
            engine, id -> TriggerClock.install(session.streams().get(id)), session.sparkContext());
    session.streams().addListener(listener);
    return listener;
  }

  /** Removes the listener from a session that ends, and Spark's listener for this session. */
  public static void release(SparkSession session, QueryListener listener)
      throws ReflectiveOperationException {
    session.streams().removeListener(listener);
    release(session);
  }

  /**
   * Removes the listener that Spark registers for every session with streaming queries and itself
   * never removes. The field is private: the list of Spark's listeners is, too.
   */
  public static void release(SparkSession session) throws ReflectiveOperationException {
    StreamingQueryManager manager = session.sessionState().streamingQueryManager();
    Field bus = Reflection.field(StreamingQueryManager.class, "listenerBus");
    session.sparkContext().listenerBus().removeListener((SparkListenerInterface) bus.get(manager));
  }

  /** Returns the error that ended a query, or null when it ended without one. */
  public static Throwable failure(StreamingQuery query) {
    return query.exception().isDefined() ? query.exception().get() : null;
  }
}
