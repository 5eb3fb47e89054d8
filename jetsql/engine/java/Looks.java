package dev.jetsql;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.storage.StorageLevel;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Looks: a SELECT over a stream, shown while its client watches. Each is a streaming query that hands its batches, one
 * after the other, to the thread that reads them. The next batch is planned when the reader is through with the one
 * before, so that a slow reader holds up the query and nothing is kept for it.
 *
 * What has no aggregate appends rows as they come. What has one shows its whole result anew with each batch (complete
 * mode), also with a watermark, where appending would show nothing before a window is closed; so ORDER BY works there.
 * Only when Spark allows no whole result (an aggregate below a join of streams, several aggregates with watermarks), it
 * appends. Spark says what can't be done at all.
 */
public class Looks {
  private static final String POOL = "spark.scheduler.pool";
  private static final String POOL_NAME = "looks";
  private static final String EXECUTION = "spark.sql.execution.id";
  private static final long TRIGGER_MILLIS = 200;
  private static final long LOOK_MILLIS = 100;
  private static final Set open = ConcurrentHashMap.newKeySet();
  private static final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(new Daemons());
  private static final TreeNodeTag ASKED = new TreeNodeTag("jetsql.asked");
  private static volatile Map thriftSessions;
  private static volatile String folder;
  private static volatile Map confs = new HashMap();
  private static volatile long limitedMillis;

  /**
   * place: where looks keep what Spark writes down of them, a URI; it is emptied. settings: of their sessions, a JSON
   * object. millis: how long a look takes that is not live.
   */
  static void connect(SparkSession session, String place, String settings, long millis) throws Exception {
    Map read = new HashMap();
    Iterator each = Extension.JSON.readTree(settings).fields();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      read.put(entry.getKey(), ((JsonNode) entry.getValue()).asText());
    }
    confs = read;
    folder = place;
    limitedMillis = millis;
    delete(session, folder);
  }

  /** End all looks; whoever reads one is told that the engine was closed. */
  static void closeAll() throws Exception {
    Iterator each = open.iterator();
    while (each.hasNext()) ((Look) each.next()).close();
  }

  private static void delete(SparkSession session, String place) throws Exception {
    Path path = new Path(place);
    path.getFileSystem(session.sparkContext().hadoopConfiguration()).delete(path, true);
  }

  /** A look at the rows of a statement. live: without an end; else it needs a limit. Throws Spark's errors. */
  static Look of(Dataset rows, boolean live) throws Exception {
    LogicalPlan plan = rows.queryExecution().analyzed();
    Expression limit = limit(plan);
    if (limit == null && !live) {
      throw Extension.Failure.of("STREAM_WITHOUT_LIMIT", "0A000",
          "A SELECT over a stream has no end. Add LIMIT n to see its next n rows, look at it in the shell (jetsql), or"
              + " write CREATE JOB name AS INSERT INTO ... in front of it.");
    }
    OutputMode mode = mode(plan);
    boolean appends = mode.equals(OutputMode.Append());
    long most = limit == null ? -1L : ((Number) limit.eval(null)).longValue();
    if (limit != null && appends) plan = withoutLimit(plan);
    UnsupportedOperationChecker$.MODULE$.checkForStreaming(plan, mode);
    return new Look((SparkSession) rows.sparkSession(), plan, mode, most, live);
  }

  /** The limit at the top of a plan; null without one. */
  private static Expression limit(LogicalPlan plan) {
    if (plan instanceof WithCTE) return limit(((WithCTE) plan).plan());
    boolean limited = plan instanceof GlobalLimit && ((GlobalLimit) plan).child() instanceof LocalLimit;
    return limited ? ((GlobalLimit) plan).limitExpr() : null;
  }

  /** Spark counts the rows of a limit in a state; who reads them can do it too. */
  private static LogicalPlan withoutLimit(LogicalPlan plan) {
    if (!(plan instanceof WithCTE)) return ((LocalLimit) ((GlobalLimit) plan).child()).child();
    return ((WithCTE) plan).copy(withoutLimit(((WithCTE) plan).plan()), ((WithCTE) plan).cteDefs());
  }

  private static OutputMode mode(LogicalPlan plan) {
    boolean aggregates = plan.exists(new Aggregates());
    return aggregates && (allows(plan, OutputMode.Complete()) || !allows(plan, OutputMode.Append()))
        ? OutputMode.Complete() : OutputMode.Append();
  }

  private static boolean allows(LogicalPlan plan, OutputMode mode) {
    try {
      UnsupportedOperationChecker$.MODULE$.checkForStreaming(plan, mode);
      return true;
    } catch (Exception e) {
      if (e instanceof AnalysisException) return false;
      throw Extension.Answers.raise(e);
    }
  }

  static class Aggregates extends scala.runtime.AbstractFunction1 {
    public Object apply(Object node) {
      return Boolean.valueOf((node instanceof Aggregate || node instanceof Distinct) && ((LogicalPlan) node).isStreaming());
    }
  }

  /**
   * One look. Its thread calls `start`, `next` until that gives null, and `close`, whatever happens in between. What Spark
   * does for it on that thread ends with it, too.
   */
  public static class Look implements VoidFunction2 {
    private final SparkSession session;
    private final LogicalPlan plan;
    private final OutputMode mode;
    private final long limit;
    private final boolean live;
    private final String id = "jetsql-look-" + UUID.randomUUID();
    private final String checkpoint = folder + "/" + id;
    private StreamingQuery query;
    private ScheduledFuture timer;
    private Dataset batch;
    private Properties ofBatch;
    private Properties ofReader;
    private Dataset part;
    private long left;
    private long number;
    private boolean woken;
    private boolean expired;
    private boolean ended;

    Look(SparkSession asked, LogicalPlan plan, OutputMode mode, long limit, boolean live) {
      this.session = asked.cloneSession();
      this.plan = plan;
      this.mode = mode;
      this.limit = limit;
      this.left = limit;
      this.live = live;
      Iterator each = confs.entrySet().iterator();
      while (each.hasNext()) {
        Map.Entry entry = (Map.Entry) each.next();
        session.conf().set((String) entry.getKey(), (String) entry.getValue());
      }
    }

    /** Whether each batch is the whole result. */
    public boolean replaces() { return mode.equals(OutputMode.Complete()); }

    /** How many rows it shows; -1 without a limit. */
    public long limit() { return limit; }

    public void start() throws Exception {
      open.add(this);
      SparkContext context = session.sparkContext();
      if (!live) timer = clock.schedule(new Expiry(this), limitedMillis, TimeUnit.MILLISECONDS);
      String pool = context.getLocalProperty(POOL);
      String execution = context.getLocalProperty(EXECUTION);
      // The query's thread takes these over from the one that starts it.
      context.addJobTag(id);
      context.setLocalProperty(POOL, POOL_NAME);
      context.setLocalProperty(EXECUTION, null);
      try {
        query = Dataset.ofRows(session, plan).writeStream().foreachBatch((VoidFunction2) this)
            .option("checkpointLocation", checkpoint).outputMode(mode)
            .trigger(Trigger.ProcessingTime(TRIGGER_MILLIS)).start();
      } finally {
        context.setLocalProperty(POOL, pool);
        context.setLocalProperty(EXECUTION, execution);
        context.removeJobTag(id);
      }
    }

    /** On the query's thread: the batch is done when the reader has asked for the next one. */
    public synchronized void call(Object rows, Object id) throws Exception {
      batch = (Dataset) rows;
      ofBatch = (Properties) session.sparkContext().getLocalProperties().clone();
      number = ((Long) id).longValue();
      notifyAll();
      while (batch != null && !ended) wait();
    }

    /** The next batch; null when the look was woken. Throws what ended the query. */
    public synchronized Dataset next() throws Exception {
      batch = null;
      notifyAll();
      while (batch == null && !woken) {
        if (ended) throw Extension.Failure.closed();
        if (!query.isActive()) throw Extension.Answers.raise(failure());
        wait(LOOK_MILLIS);
      }
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
      Dataset found = replaces() ? rows : rows.limit((int) left);
      long count = count(found.persist(StorageLevel.DISK_ONLY()));
      keep(found);
      left = replaces() ? left : left - count;
      return replaces() ? count < limit : left > 0;
    }

    private long count(Dataset kept) {
      enter();
      try {
        return kept.count();
      } catch (RuntimeException e) {
        kept.unpersist();
        throw e;
      } finally {
        leave();
      }
    }

    private synchronized void keep(Dataset rows) {
      if (part != null) part.unpersist();
      part = rows;
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

    /** From any thread: `next` gives null from now on. */
    public synchronized void wake() {
      woken = true;
      notifyAll();
    }

    private Throwable failure() {
      if (query.exception().isEmpty()) return Extension.Failure.closed();
      StreamingQueryException told = (StreamingQueryException) query.exception().get();
      return told.cause() == null ? told : told.cause();
    }

    /** End the query and leave nothing of it; again is fine. */
    public void close() throws Exception {
      if (!open.remove(this)) return;
      synchronized (this) {
        ended = true;
        notifyAll();
      }
      if (timer != null) timer.cancel(false);
      keep(null);
      try {
        if (query != null) query.stop();
      } finally {
        Queries.release(session);
        delete(session, checkpoint);
      }
    }
  }

  /** A statement as its client sent it, apart from the texts of views, which are parsed on the way. */
  static LogicalPlan asked(LogicalPlan statement) {
    if (thriftSessions != null && !(statement instanceof Command)) statement.setTagValue(ASKED, Boolean.TRUE);
    return statement;
  }

  /** The sessions of the Thrift server by its handles, live; null while it is closed. */
  static void connectThrift(Map sessions) { thriftSessions = sessions; }

  /**
   * A SELECT over a stream becomes a look in sessions of the Thrift server, which would fail with it. Everywhere else it
   * stays a streaming DataFrame.
   */
  public static class InThriftSessions extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) { return new InThriftSessionsRule((SparkSession) session); }
  }

  public static class InThriftSessionsRule extends Rule {
    private final SparkSession session;

    public InThriftSessionsRule(SparkSession session) { this.session = session; }

    public TreeNode apply(TreeNode node) {
      LogicalPlan plan = (LogicalPlan) node;
      Map sessions = thriftSessions;
      boolean looks = sessions != null && plan.getTagValue(ASKED).isDefined() && plan.resolved() && plan.isStreaming()
          && sessions.containsValue(session);
      return looks ? new Shown(plan) : plan;
    }
  }

  /** A look that is not live, as a statement of Spark's. */
  public static class Shown extends Extension.Command {
    private final LogicalPlan plan;

    public Shown(LogicalPlan plan) {
      super("", plan.output(), plan.schema());
      this.plan = plan;
    }

    public Seq run(org.apache.spark.sql.SparkSession session) {
      List rows = new ArrayList();
      try {
        // In a session beside the client's, where the plan stays what it is.
        Look look = of(Dataset.ofRows(((SparkSession) session).cloneSession(), plan), false);
        try {
          look.start();
          for (Dataset part = look.part(); part != null; part = look.part()) rows.addAll(part.collectAsList());
        } finally {
          look.close();
        }
      } catch (Exception e) {
        throw Extension.Answers.raise(e);
      }
      return CollectionConverters.asScala(rows).toSeq();
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
