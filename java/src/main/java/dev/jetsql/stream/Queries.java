package dev.jetsql.stream;

import dev.jetsql.kafka.KafkaQuestions;
import java.lang.reflect.Field;
import java.time.Instant;
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
import org.apache.spark.sql.streaming.StreamingQueryListener;
import scala.Option;

/** A running query: what it tells, and how it ends. */
public class Queries {

  /**
   * Tells the engine what happens in one session's query: ("progress", JSON), ("idle", time in milliseconds),
   * ("ended", ""). An idle query tells so once, and again when it is asked to.
   */
  public static class Listener extends StreamingQueryListener {
    private final BiConsumer engine;
    private boolean tellIdle = true;
    private long watchedSince = 0;

    public Listener(BiConsumer engine) { this.engine = engine; }

    /** Who asks waits for a trigger that begins from now on: one that is under way tells, but is not the last word. */
    public synchronized void watchIdle() {
      tellIdle = true;
      watchedSince = System.currentTimeMillis() + 1;
    }

    public void onQueryStarted(StreamingQueryListener.QueryStartedEvent event) { }

    public void onQueryProgress(StreamingQueryListener.QueryProgressEvent event) {
      synchronized (this) { tellIdle = true; }
      engine.accept("progress", event.progress().json());
    }

    public void onQueryIdle(StreamingQueryListener.QueryIdleEvent event) {
      synchronized (this) {
        if (!tellIdle) return;
        tellIdle = Instant.parse(event.timestamp()).toEpochMilli() < watchedSince;
      }
      engine.accept("idle", event.timestamp());
    }

    public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent event) { engine.accept("ended", ""); }
  }

  /**
   * End a query between two batches: told that it is terminated, Spark finishes and commits the batch under way and
   * begins no other. A query that sleeps between triggers is woken. Returns false when the deadline passed and it had
   * to be interrupted. Blocks until the query's thread has ended.
   */
  public static boolean stop(StreamingQuery query, long deadlineMillis) throws Exception {
    StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
    execution.state().set(TERMINATED$.MODULE$);
    Thread thread = execution.queryExecutionThread();
    long deadline = System.nanoTime() + deadlineMillis * 1000000L;
    int calm = 0;
    while (thread.isAlive() && calm < 2 && System.nanoTime() < deadline) {
      thread.join(20);
      // A trigger that saw the query active just before may be about to begin: quiet twice in a row means asleep.
      calm = query.status().isTriggerActive() ? 0 : calm + 1;
    }
    boolean graceful = !thread.isAlive() || calm >= 2;
    KafkaQuestions.end(query);
    if (execution instanceof AsyncProgressTrackingMicroBatchExecution && !thread.isAlive()) {
      noteNewest((AsyncProgressTrackingMicroBatchExecution) execution);
    }
    return graceful;
  }

  /**
   * Asynchronous progress tracking keeps what it knows of the newest batches to itself between two notes, also when it is
   * stopped: the next run would write them again. So its newest committed batch is noted in its place.
   */
  private static void noteNewest(AsyncProgressTrackingMicroBatchExecution execution) {
    if (execution.lastProgress() == null) return;
    OffsetSeqLog known = execution.offsetLog();
    CommitLog done = execution.commitLog();
    String root = execution.resolvedCheckpointRoot();
    org.apache.spark.sql.SparkSession session = execution.sparkSessionForStream();
    // A trigger that found nothing tells the number of the batch to come.
    for (long batch = execution.lastProgress().batchId(); batch >= 0 && batch > execution.lastProgress().batchId() - 2; batch--) {
      Option<org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqBase> offsets = known.get(batch);
      Option<org.apache.spark.sql.execution.streaming.checkpointing.CommitMetadataBase> committed = done.get(batch);
      if (offsets.isEmpty() || committed.isEmpty()) continue;
      new OffsetSeqLog(session, root + "/offsets", false).add(batch, offsets.get());
      new CommitLog(session, root + "/commits", false).add(batch, committed.get());
      return;
    }
  }

  /** Every session with streams adds a listener to Spark that stays for good; take it away with the session's end. */
  public static void release(SparkSession session, Listener listener) throws Exception {
    session.streams().removeListener(listener);
    release(session);
  }

  static void release(SparkSession session) throws Exception {
    StreamingQueryManager manager = session.sessionState().streamingQueryManager();
    Field bus = StreamingQueryManager.class.getDeclaredField("listenerBus");
    bus.setAccessible(true);
    session.sparkContext().listenerBus().removeListener((SparkListenerInterface) bus.get(manager));
  }

  /** The error that ended a query; null when it ended without. */
  public static Throwable failure(StreamingQuery query) {
    return query.exception().isDefined() ? (Throwable) query.exception().get() : null;
  }
}
