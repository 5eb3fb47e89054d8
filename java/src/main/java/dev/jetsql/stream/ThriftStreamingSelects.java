package dev.jetsql.stream;

import dev.jetsql.common.JobContext;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The analyzer rule that replaces a SELECT over a stream by a streaming select in sessions of the
 * Thrift server, which cannot run a streaming DataFrame. In all other sessions the SELECT is a
 * streaming DataFrame.
 */
public final class ThriftStreamingSelects extends Rule<LogicalPlan> {
  private static final TreeNodeTag<Boolean> FROM_CLIENT = new TreeNodeTag<>("jetsql.from.client");
  private static volatile Map<?, ?> thriftSessions;

  private final SparkSession session;

  public ThriftStreamingSelects(SparkSession session) {
    this.session = session;
  }

  /**
   * Sets the live map of the Thrift server's sessions by their handles; null when the server is
   * closed.
   */
  public static void connect(Map<?, ?> sessions) {
    thriftSessions = sessions;
  }

  /**
   * Marks a statement that a client sent, in contrast to the texts of views and the bodies of jobs.
   */
  public static LogicalPlan markStatement(LogicalPlan statement) {
    if (thriftSessions == null || JobContext.isAnalyzing()) return statement;
    statement.setTagValue(FROM_CLIENT, Boolean.TRUE);
    // Spark replaces the WITH clause by another node.
    if (statement instanceof UnresolvedWith with)
      with.child().setTagValue(FROM_CLIENT, Boolean.TRUE);
    return statement;
  }

  private static boolean isMarked(LogicalPlan plan) {
    return plan.getTagValue(FROM_CLIENT).isDefined()
        || (plan instanceof WithCTE with && with.plan().getTagValue(FROM_CLIENT).isDefined());
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Map<?, ?> sessions = thriftSessions;
    boolean selects =
        sessions != null
            && isMarked(plan)
            && plan.resolved()
            && plan.isStreaming()
            && sessions.containsValue(session)
            && !plan.exists(ThriftStreamingSelects::changes);
    return selects ? new StreamingSelectCommand(plan) : plan;
  }

  /**
   * Returns whether a node changes data. An INSERT is a Command only after it is resolved, and may
   * be below its WITH clause.
   */
  private static boolean changes(LogicalPlan node) {
    return node instanceof Command || node instanceof ParsedStatement;
  }
}
