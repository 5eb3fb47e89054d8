package dev.jetsql.stream;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.KafkaQueryStop;
import dev.jetsql.kafka.topics.QueryTopics;
import dev.jetsql.rights.RunningRead;
import dev.jetsql.scheduling.CancelledJobGroups;
import dev.jetsql.scheduling.FairPools;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.storage.StorageLevel;
import org.slf4j.LoggerFactory;

/**
 * The cursor of one streaming select. The reader's thread calls `start`, then `next` (or
 * `nextPart`) until it returns null, and `close` in any case. `close` also cancels the Spark jobs
 * that this thread starts for the rows.
 */
public final class StreamingCursor {
  private static final String EXECUTION = "spark.sql.execution.id";
  private static final long TRIGGER_MILLIS = 200;
  private static final long POLL_MILLIS = 100;
  private static final ScheduledThreadPoolExecutor CLOCK =
      new ScheduledThreadPoolExecutor(1, StreamingCursor::daemon);

  static {
    CLOCK.setRemoveOnCancelPolicy(true);
  }

  private final SparkSession session;
  private final StreamingSelectPlan select;
  private final long millis;
  private final RunningRead read;
  private final String id = "jetsql-select-" + UUID.randomUUID();
  private final String checkpoint;
  private final Map<String, Map<String, String>> topicIds = new HashMap<>();
  private StreamingQuery query;
  private ScheduledFuture<?> timer;
  private Dataset<Row> batch; // null until the query's thread provides the next one
  private long batchId;
  private boolean handedOut;
  private Properties batchProperties;
  private Properties readerProperties;
  private Dataset<Row> part;
  private long remaining; // rows to return as parts
  private boolean woken;
  private boolean expired;
  private boolean closed;

  /**
   * Creates a cursor that has not started.
   *
   * @param session a session that only this cursor uses
   * @param folder the parent folder of its checkpoint
   * @param millis the time limit in milliseconds; -1 for none
   * @param read checks that its user may still read the rows
   */
  StreamingCursor(
      SparkSession session,
      StreamingSelectPlan select,
      String folder,
      long millis,
      RunningRead read) {
    this.session = session;
    this.select = select;
    this.remaining = select.limit();
    this.checkpoint = folder + "/" + id;
    this.millis = millis;
    this.read = read;
  }

  private static Thread daemon(Runnable work) {
    var thread = new Thread(null, work, "jetsql-streaming-selects", 0, false);
    thread.setDaemon(true);
    return thread;
  }

  /** Returns whether each batch is the whole result and replaces the previous one. */
  public boolean replaces() {
    return select.mode().equals(OutputMode.Complete());
  }

  /** Returns the maximum number of rows, or -1 without a limit. */
  public long limit() {
    return select.limit();
  }

  /** Starts the query. Throws the error of a closed engine if the cursor was closed meanwhile. */
  public void start() throws Exception {
    StreamingSelects.opened(this);
    if (millis >= 0) timer = CLOCK.schedule(this::expire, millis, TimeUnit.MILLISECONDS);
    StreamingQuery started = startQuery();
    if (keepUnlessClosed(started)) return;
    end(started);
    throw JetSqlException.closed();
  }

  private StreamingQuery startQuery() throws TimeoutException {
    SparkContext context = session.sparkContext();
    String pool = context.getLocalProperty(FairPools.POOL);
    String execution = context.getLocalProperty(EXECUTION);
    // The query's thread inherits the local properties of the thread that starts it.
    context.addJobTag(id);
    if (pool == null || !FairPools.isOfUser(pool))
      context.setLocalProperty(FairPools.POOL, "streaming-selects");
    context.setLocalProperty(EXECUTION, null);
    try {
      return Dataset.ofRows(session, SourceRateLimits.apply(session, select.plan()))
          .writeStream()
          .foreachBatch((VoidFunction2<org.apache.spark.sql.Dataset<Row>, Long>) this::handOut)
          .option("checkpointLocation", checkpoint)
          .outputMode(select.mode())
          .trigger(Trigger.ProcessingTime(TRIGGER_MILLIS))
          .start();
    } finally {
      context.setLocalProperty(FairPools.POOL, pool);
      context.setLocalProperty(EXECUTION, execution);
      context.removeJobTag(id);
    }
  }

  /**
   * Stores the started query. Returns false when the cursor was closed while Spark started the
   * query, so that `close` could not end it.
   */
  private synchronized boolean keepUnlessClosed(StreamingQuery started) {
    if (!closed) query = started;
    return !closed;
  }

  /**
   * Processes a batch on the query's thread. Returns when the reader has requested the next one.
   */
  private synchronized void handOut(org.apache.spark.sql.Dataset<Row> rows, Long number)
      throws Exception {
    // The first batch may come before `start` has the query. Its session has no other one.
    QueryTopics.check(session.streams().active()[0], topicIds, true);
    var stored = select.store((Dataset<Row>) rows);
    try {
      batch = select.result(stored);
      handedOut = false;
      batchProperties = (Properties) session.sparkContext().getLocalProperties().clone();
      batchId = number;
      notifyAll();
      while (batch != null && !closed) wait();
    } finally {
      select.release(stored);
    }
  }

  /** Returns the next batch, or null after `wake`. Throws the error that ended the query. */
  public synchronized Dataset<Row> next() throws Exception {
    if (handedOut) batch = null;
    notifyAll();
    while (batch == null && !woken) {
      if (closed) throw JetSqlException.closed();
      if (!query.isActive()) throw Exceptions.raise(failure());
      QueryTopics.check(query, topicIds, false);
      read.check();
      wait(POLL_MILLIS);
    }
    read.check();
    handedOut = batch != null;
    return batch;
  }

  /**
   * Returns the next part of the rows, or null after the last. It replaces `next` for a select that
   * is not live.
   *
   * <p>A part is kept on disk until the next call. Appended rows are returned up to the limit. Of
   * whole results, the first that reaches the limit is returned, otherwise the newest at the time
   * limit.
   */
  public Dataset<Row> nextPart() throws Exception {
    replacePart(null);
    try {
      boolean more = remaining > 0;
      while (more && (replaces() || part == null)) more = keepPart(next());
    } catch (Exception e) {
      if (!isExpired()) throw e;
    }
    if (replaces()) remaining = 0;
    return part;
  }

  /** Keeps the rows of a batch as the current part, and returns whether more rows must be read. */
  private boolean keepPart(Dataset<Row> rows) {
    if (rows == null) return false;
    Dataset<Row> kept = Batches.withoutOrdering(rows);
    if (!replaces()) kept = kept.limit((int) remaining);
    long count = count(kept.persist(StorageLevel.DISK_ONLY()));
    replacePart(kept);
    if (replaces()) return count < limit();
    remaining -= count;
    return remaining > 0;
  }

  private long count(Dataset<Row> kept) {
    long count = -1;
    enterQuery();
    session
        .sparkContext()
        .setJobGroup(id, "", true); // `wake` cancels the group, even before the count has begun
    try {
      count = kept.count();
    } finally {
      leaveQuery();
      if (count < 0) kept.unpersist();
    }
    return count;
  }

  private synchronized void replacePart(Dataset<Row> rows) {
    if (part != null) part.unpersist();
    part = closed ? null : rows;
    if (closed && rows != null) rows.unpersist();
  }

  /**
   * Ends the select at its time limit: `next` returns null from now on, and a running batch fails.
   */
  private void expire() {
    synchronized (this) {
      expired = true;
    }
    wake();
    session.sparkContext().cancelJobsWithTag(id);
  }

  private synchronized boolean isExpired() {
    return expired;
  }

  /**
   * Makes the jobs that this thread starts part of the query until `leaveQuery`. They use the
   * query's settings, which its state requires, and its scheduler pool, and are cancelled with it.
   */
  public void enterQuery() {
    readerProperties = session.sparkContext().getLocalProperties();
    session.sparkContext().setLocalProperties(batchProperties);
  }

  /** Restores the local properties that `enterQuery` has replaced. */
  public void leaveQuery() {
    session.sparkContext().setLocalProperties(readerProperties);
  }

  /** Returns the number of the newest batch, from 0. */
  public synchronized long batchId() {
    return batchId;
  }

  /**
   * Lets `next` return null from now on, and stops the counting of rows. Any thread may call it.
   */
  public void wake() {
    synchronized (this) {
      woken = true;
      notifyAll();
    }
    CancelledJobGroups.cancel(session.sparkContext(), id);
  }

  private Throwable failure() {
    if (query.exception().isEmpty()) return JetSqlException.closed();
    StreamingQueryException error = query.exception().get();
    return error.cause() == null ? error : error.cause();
  }

  /** Ends the query and deletes its checkpoint. Any thread may call it repeatedly. */
  public void close() throws Exception {
    if (!StreamingSelects.closed(this)) return;
    synchronized (this) {
      closed = true;
      notifyAll();
    }
    CancelledJobGroups.cancel(session.sparkContext(), id);
    replacePart(null);
    end(query);
  }

  /** Ends a query, which is null if none has started. */
  private void end(StreamingQuery started) throws Exception {
    if (timer != null) timer.cancel(false);
    try {
      if (started != null) KafkaQueryStop.stop(started);
    } catch (TimeoutException slow) {
      LoggerFactory.getLogger(StreamingCursor.class)
          .warn(
              "A streaming select did not end in time; its work continues until Spark interrupts"
                  + " it",
              slow);
    } finally {
      Queries.release(session);
      StreamingSelects.delete(session, checkpoint);
    }
  }
}
