package dev.jetsql.stream;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.KafkaQueryStop;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.storage.StorageLevel;
import org.slf4j.LoggerFactory;

/**
 * One look. Its thread calls `start`, `next` until that gives null, and `close`, whatever happens in between. What Spark
 * does for it on that thread ends with it, too.
 */
public class Look implements VoidFunction2 {
  private static final String POOL = "spark.scheduler.pool";
  private static final String EXECUTION = "spark.sql.execution.id";
  private static final long TRIGGER_MILLIS = 200;
  private static final long WAIT_MILLIS = 100;
  private static final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, new Daemons());

  static { clock.setRemoveOnCancelPolicy(true); }

  private final SparkSession session;
  private final LogicalPlan plan;
  private final OutputMode mode;
  private final long limit;
  private final long millis;
  private final String id = "jetsql-look-" + UUID.randomUUID();
  private final String checkpoint;
  private StreamingQuery query;
  private ScheduledFuture timer;
  private Dataset batch;
  private boolean handedOut;
  private Properties ofBatch;
  private Properties ofReader;
  private Dataset part;
  private long left;
  private long number;
  private boolean woken;
  private boolean expired;
  private boolean ended;

  /** session: for it alone. place: the folder for what Spark notes of it. millis: its time; -1 without an end. */
  Look(SparkSession session, LogicalPlan plan, OutputMode mode, long limit, String place, long millis) {
    this.session = session;
    this.plan = plan;
    this.mode = mode;
    this.limit = limit;
    this.left = limit;
    this.checkpoint = place + "/" + id;
    this.millis = millis;
  }

  /** Whether each batch is the whole result. */
  public boolean replaces() { return mode.equals(OutputMode.Complete()); }

  /** How many rows it shows; -1 without a limit. */
  public long limit() { return limit; }

  public void start() throws Exception {
    Looks.open.add(this);
    SparkContext context = session.sparkContext();
    if (millis >= 0) timer = clock.schedule(new Expiry(this), millis, TimeUnit.MILLISECONDS);
    String pool = context.getLocalProperty(POOL);
    String execution = context.getLocalProperty(EXECUTION);
    // The query's thread takes these over from the one that starts it.
    context.addJobTag(id);
    context.setLocalProperty(POOL, "looks");
    context.setLocalProperty(EXECUTION, null);
    StreamingQuery begun;
    try {
      begun = Dataset.ofRows(session, plan).writeStream().foreachBatch((VoidFunction2) this)
          .option("checkpointLocation", checkpoint).outputMode(mode)
          .trigger(Trigger.ProcessingTime(TRIGGER_MILLIS)).start();
    } finally {
      context.setLocalProperty(POOL, pool);
      context.setLocalProperty(EXECUTION, execution);
      context.removeJobTag(id);
    }
    if (goesOn(begun)) return;
    end(begun);
    throw JetSqlException.closed();
  }

  /** Whether nobody has closed the look while Spark started its query; who did could not end that. */
  private synchronized boolean goesOn(StreamingQuery begun) {
    if (!ended) query = begun;
    return !ended;
  }

  /** On the query's thread: the batch is done when the reader has asked for the next one. */
  public synchronized void call(Object rows, Object id) throws Exception {
    batch = (Dataset) rows;
    handedOut = false;
    ofBatch = (Properties) session.sparkContext().getLocalProperties().clone();
    number = ((Long) id).longValue();
    notifyAll();
    while (batch != null && !ended) wait();
  }

  /** The next batch; null when the look was woken. Throws what ended the query. */
  public synchronized Dataset next() throws Exception {
    if (handedOut) batch = null;
    notifyAll();
    while (batch == null && !woken) {
      if (ended) throw JetSqlException.closed();
      if (!query.isActive()) throw Exceptions.raise(failure());
      wait(WAIT_MILLIS);
    }
    handedOut = batch != null;
    return batch;
  }

  /**
   * Instead of `next`, for a look that is not live: the next part of its rows, on disk until the one after that is asked
   * for; null behind the last. Rows that are appended come until they are as many as the limit; of whole results, the
   * first that is as large, else the newest. Both end with the time.
   */
  public Dataset part() throws Exception {
    keep(null);
    try {
      boolean more = left > 0;
      while (more && (replaces() || part == null)) more = take(next());
    } catch (Exception e) {
      if (!expired()) throw e;
    }
    if (replaces()) left = 0;
    return part;
  }

  /** Whether there is more to come behind these rows. */
  private boolean take(Dataset rows) {
    if (rows == null) return false;
    Dataset found = replaces() ? plain(rows) : plain(rows).limit((int) left);
    long count = count(found.persist(StorageLevel.DISK_ONLY()));
    keep(found);
    left = replaces() ? left : left - count;
    return replaces() ? count < limit : left > 0;
  }

  /**
   * Spark says of a batch that is sorted by a column of its source that it is so by one that the batch does not have, and
   * then fails to keep it (`LogicalRDD.fromDataset`). So it is told nothing but the rows.
   */
  private static Dataset plain(Dataset rows) {
    SparkSession of = (SparkSession) rows.sparkSession();
    return of.internalCreateDataFrame(rows.queryExecution().toRdd(), rows.schema(), false);
  }

  private long count(Dataset kept) {
    long count = -1;
    enter();
    session.sparkContext().setJobGroup(id, "", true); // which `wake` cancels, also before the count has begun
    try {
      count = kept.count();
    } finally {
      leave();
      if (count < 0) kept.unpersist();
    }
    return count;
  }

  private synchronized void keep(Dataset rows) {
    if (part != null) part.unpersist();
    part = ended ? null : rows;
    if (ended && rows != null) rows.unpersist();
  }

  /** The time is up: `next` gives null from now on, and a batch that is under way fails. */
  void expire() {
    synchronized (this) { expired = true; }
    wake();
    session.sparkContext().cancelJobsWithTag(id);
  }

  private synchronized boolean expired() { return expired; }

  /**
   * What the reader's thread has Spark do from now on is the query's, until `leave`: under its settings, without which
   * state is not written as the query expects it, in its pool, and ended with it.
   */
  public void enter() {
    ofReader = session.sparkContext().getLocalProperties();
    session.sparkContext().setLocalProperties(ofBatch);
  }

  public void leave() { session.sparkContext().setLocalProperties(ofReader); }

  /** Of the newest batch, from 0. */
  public synchronized long number() { return number; }

  /** From any thread: `next` gives null from now on, and rows are not counted to their end. */
  public void wake() {
    synchronized (this) {
      woken = true;
      notifyAll();
    }
    GivenUp.end(session.sparkContext(), id);
  }

  private Throwable failure() {
    if (query.exception().isEmpty()) return JetSqlException.closed();
    StreamingQueryException told = (StreamingQueryException) query.exception().get();
    return told.cause() == null ? told : told.cause();
  }

  /** End the query and leave nothing of it; again is fine, and so is another thread. */
  public void close() throws Exception {
    if (!Looks.open.remove(this)) return;
    synchronized (this) {
      ended = true;
      notifyAll();
    }
    GivenUp.end(session.sparkContext(), id);
    keep(null);
    end(query);
  }

  /** begun: null when there is no query, or none yet. */
  private void end(StreamingQuery begun) throws Exception {
    if (timer != null) timer.cancel(false);
    try {
      if (begun != null) KafkaQueryStop.stop(begun);
    } catch (TimeoutException slow) {
      LoggerFactory.getLogger(Look.class).warn("A look did not end in time; what it does goes on until it notices", slow);
    } finally {
      Queries.release(session);
      Looks.delete(session, checkpoint);
    }
  }

  static class Expiry implements Runnable {
    private final Look look;

    Expiry(Look look) { this.look = look; }

    public void run() { look.expire(); }
  }

  static class Daemons implements ThreadFactory {
    public Thread newThread(Runnable work) {
      Thread thread = new Thread(null, work, "jetsql-looks", 0, false);
      thread.setDaemon(true);
      return thread;
    }
  }
}
