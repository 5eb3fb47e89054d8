package dev.jetsql;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;

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
  private static final String EXECUTION = "spark.sql.execution.id";
  private static final long TRIGGER_MILLIS = 200;
  private static final long LOOK_MILLIS = 100;
  private static final Set open = ConcurrentHashMap.newKeySet();
  private static volatile String folder;
  private static volatile Map confs = new HashMap();

  /** Where looks keep what Spark writes down of them, a URI; and the settings of their sessions (JSON object). */
  static void connect(SparkSession session, String place, String settings) throws Exception {
    Map read = new HashMap();
    Iterator each = Extension.JSON.readTree(settings).fields();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      read.put(entry.getKey(), ((JsonNode) entry.getValue()).asText());
    }
    confs = read;
    folder = place;
    delete(session, folder);
  }

  /** End all looks; whoever reads one is told that the engine was closed. */
  static void closeAll() throws Exception {
    Iterator each = open.iterator();
    while (each.hasNext()) ((Look) each.next()).end();
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
    return new Look((SparkSession) rows.sparkSession(), plan, mode, most);
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

  /** One look. Its thread calls `start`, `next` until that gives null, and `close`, whatever happens in between. */
  public static class Look implements VoidFunction2 {
    private final SparkSession session;
    private final LogicalPlan plan;
    private final OutputMode mode;
    private final long limit;
    private final String checkpoint;
    private StreamingQuery query;
    private Dataset batch;
    private long number;
    private boolean woken;
    private boolean ended;

    Look(SparkSession asked, LogicalPlan plan, OutputMode mode, long limit) {
      this.session = asked.cloneSession();
      this.plan = plan;
      this.mode = mode;
      this.limit = limit;
      this.checkpoint = folder + "/" + UUID.randomUUID();
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
      String pool = context.getLocalProperty(POOL);
      String execution = context.getLocalProperty(EXECUTION);
      // The query's thread takes these over from the one that starts it.
      context.setLocalProperty(POOL, "looks");
      context.setLocalProperty(EXECUTION, null);
      try {
        query = Dataset.ofRows(session, plan).writeStream().foreachBatch((VoidFunction2) this)
            .option("checkpointLocation", checkpoint).outputMode(mode)
            .trigger(Trigger.ProcessingTime(TRIGGER_MILLIS)).start();
      } finally {
        context.setLocalProperty(POOL, pool);
        context.setLocalProperty(EXECUTION, execution);
      }
    }

    /** On the query's thread: the batch is done when the reader has asked for the next one. */
    public synchronized void call(Object rows, Object id) throws Exception {
      batch = (Dataset) rows;
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

    synchronized void end() {
      ended = true;
      notifyAll();
    }

    /** End the query and leave nothing of it; again is fine. */
    public void close() throws Exception {
      if (!open.remove(this)) return;
      end();
      try {
        if (query != null) query.stop();
      } finally {
        Queries.release(session);
        delete(session, checkpoint);
      }
    }
  }
}
