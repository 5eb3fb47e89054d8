package dev.jetsql.stream;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.kafka.KafkaTopicChecks;
import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.JobContext;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.slf4j.LoggerFactory;
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
  /** Those that are under way. */
  static final Set open = ConcurrentHashMap.newKeySet();
  private static final long THRIFT_ROWS_MOST = 100000;
  private static final TreeNodeTag ASKED = new TreeNodeTag("jetsql.asked");
  private static volatile Map thriftSessions;
  private static volatile String folder;
  private static volatile Map confs = new HashMap();
  private static volatile long limitedMillis;

  /**
   * place: where looks keep what Spark writes down of them, a URI; it is emptied. settings: of their sessions, a JSON
   * object. millis: how long a look takes that is not live.
   */
  public static void connect(SparkSession session, String place, String settings, long millis) throws Exception {
    Map read = new HashMap();
    Iterator each = Json.MAPPER.readTree(settings).fields();
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
  public static void closeAll() throws Exception {
    Iterator each = open.iterator();
    while (each.hasNext()) close((Look) each.next());
  }

  private static void close(Look look) {
    try {
      look.close();
    } catch (Exception error) { // whatever it is, the others and the jobs are to be ended well
      LoggerFactory.getLogger(Looks.class).warn("A look could not be ended", error);
    }
  }

  static void delete(SparkSession session, String place) throws Exception {
    Path path = new Path(place);
    path.getFileSystem(session.sparkContext().hadoopConfiguration()).delete(path, true);
  }

  /** A look at the rows of a statement. live: without an end; else it needs a limit. Throws Spark's errors. */
  public static Look of(Dataset rows, boolean live) throws Exception {
    LogicalPlan plan = rows.queryExecution().analyzed();
    Expression limit = limit(plan);
    if (limit == null && !live) {
      throw JetSqlException.of("STREAM_WITHOUT_LIMIT", "0A000",
          "A SELECT over a stream has no end. Add LIMIT n to see its next n rows, look at it in the shell (jetsql), or"
              + " write CREATE JOB name AS INSERT INTO ... in front of it.");
    }
    OutputMode mode = mode(plan);
    boolean appends = mode.equals(OutputMode.Append());
    long most = limit == null ? -1L : ((Number) limit.eval(null)).longValue();
    if (limit != null && appends) plan = withoutLimit(plan);
    UnsupportedOperationChecker$.MODULE$.checkForStreaming(plan, mode);
    KafkaTopicChecks.checkStreams(plan);
    SparkSession own = session((SparkSession) rows.sparkSession());
    return new Look(own, Intake.bounded(plan), mode, most, folder, live ? -1L : limitedMillis);
  }

  private static SparkSession session(SparkSession asked) {
    SparkSession own = asked.cloneSession();
    Iterator each = confs.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      own.conf().set((String) entry.getKey(), (String) entry.getValue());
    }
    return own;
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
      throw Exceptions.raise(e);
    }
  }

  static class Aggregates extends scala.runtime.AbstractFunction1 {
    public Object apply(Object node) {
      boolean aggregates = node instanceof Aggregate || node instanceof Distinct;
      return Boolean.valueOf(aggregates && ((LogicalPlan) node).isStreaming());
    }
  }

  /** A statement as its client sent it, unlike the texts of views and the bodies of jobs. */
  public static LogicalPlan asked(LogicalPlan statement) {
    if (thriftSessions != null && !JobContext.isAnalyzing()) statement.setTagValue(ASKED, Boolean.TRUE);
    return statement;
  }

  /** The sessions of the Thrift server by its handles, live; null while it is closed. */
  public static void connectThrift(Map sessions) { thriftSessions = sessions; }

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
          && sessions.containsValue(session) && !plan.exists(new Changes());
      return looks ? new Shown(plan) : plan;
    }
  }

  /** An INSERT is a command only when it is resolved, and may stand below the queries that it names. */
  static class Changes extends scala.runtime.AbstractFunction1 {
    public Object apply(Object node) {
      return Boolean.valueOf(node instanceof Command || node instanceof ParsedStatement);
    }
  }

  /** A look that is not live, as a statement of Spark's, which holds its rows until the client has fetched them. */
  public static class Shown extends LeafCommand {
    private final LogicalPlan plan;

    public Shown(LogicalPlan plan) {
      super(plan);
      this.plan = plan;
    }


    public Seq output() { return plan.output(); }

    public Seq run(org.apache.spark.sql.SparkSession session) {
      List rows = new ArrayList();
      try {
        // In a session beside the client's, where the plan stays what it is.
        Look look = of(Dataset.ofRows(((SparkSession) session).cloneSession(), plan), false);
        if (look.limit() > THRIFT_ROWS_MOST) throw tooLarge(look.limit());
        try {
          look.start();
          for (Dataset part = look.part(); part != null; part = look.part()) rows.addAll(part.collectAsList());
        } finally {
          look.close();
        }
      } catch (Exception e) {
        throw Exceptions.raise(e);
      }
      return CollectionConverters.asScala(rows).toSeq();
    }

    private static JetSqlException tooLarge(long limit) {
      return JetSqlException.of("STREAM_LIMIT_TOO_HIGH", "54000",
          "LIMIT is " + limit + ", and the engine holds the rows of a stream in memory for clients of JDBC: at most "
              + THRIFT_ROWS_MOST + ". Lower it, use another door, or write CREATE JOB name AS INSERT INTO ... and read"
              + " the job's table.");
    }
  }
}
