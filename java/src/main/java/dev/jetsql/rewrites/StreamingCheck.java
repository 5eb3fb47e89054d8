package dev.jetsql.rewrites;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.StateTypes;
import dev.jetsql.rewrites.changes.ChangedResults;
import dev.jetsql.versions.SparkCalls;
import dev.jetsql.versions.SparkVersion;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.InnerLike;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsWithState;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.BaseStreamingDeduplicateExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.SessionWindowStateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.streaming.OutputMode;
import scala.collection.immutable.Seq;

/**
 * Spark's checks of a streaming query: those of the analyzed plan, and those that Spark makes only
 * when it plans or runs the first batch.
 */
public final class StreamingCheck {
  private final SparkSession session;
  private final LogicalPlan query;
  private final Map<OutputMode, String> reasons;
  private final Map<OutputMode, Planned> planned = new HashMap<>();

  /**
   * The plan of a batch, or why Spark cannot make one; neither for an error of a value.
   *
   * @param ofKeys whether the reason is a key that the state cannot keep
   */
  private record Planned(SparkPlan plan, String reason, boolean ofKeys) {}

  StreamingCheck(SparkSession session, LogicalPlan query) {
    this(session, query, Map.of());
  }

  /**
   * Creates the checks.
   *
   * @param reasons why JetSQL does not run the query in an output mode
   */
  StreamingCheck(SparkSession session, LogicalPlan query, Map<OutputMode, String> reasons) {
    this.session = session;
    this.query = query;
    this.reasons = reasons;
  }

  /** Returns why Spark cannot run the query in an output mode, or null if it can. */
  public String reason(OutputMode mode) {
    var reason = logicalReason(mode);
    return reason == null ? planned(mode).reason() : reason;
  }

  /**
   * Returns why the query is not run in an output mode, or null if it is: Spark's reason, or that a
   * join would lose rows, or that equal rows have several keys. A job of an earlier release that
   * Spark can run continues.
   */
  public String refusal(OutputMode mode) {
    var reason = reason(mode);
    var plan = reason == null ? batchPlan(mode) : null;
    if (plan == null) return reason;
    var lost = LostRows.refusal(plan, mode);
    if (lost != null || SparkVersion.isAtLeast(4, 2)) return lost; // which has SPARK-56280
    return refusedKey(plan, BaseStreamingDeduplicateExec.class::isInstance, EqualKey::checkOneForm);
  }

  /** Returns whether Spark can run the query in an output mode but for a key of its state. */
  boolean lacksOnlyKeys(OutputMode mode) {
    return reason(mode) != null && logicalReason(mode) == null && planned.get(mode).ofKeys();
  }

  /** Returns the reason of the check of the analyzed plan alone. */
  public String logicalReason(OutputMode mode) {
    if (reasons.containsKey(mode)) return reasons.get(mode);
    if (ChangedResults.isUsed(query) && !mode.equals(OutputMode.Update()))
      return "Rows of the result change, which only the output mode update can write.";
    var reason = Plans.sparkReason(query, mode);
    return reason == null || runsUnchecked(mode) ? null : reason;
  }

  private Planned planned(OutputMode mode) {
    return planned.computeIfAbsent(mode, each -> ApprovedPlans.call(() -> plan(each)));
  }

  /** Returns a phrase for each operator whose state grows for ever in a possible output mode. */
  public List<String> keptState(OutputMode mode) {
    var plan = batchPlan(mode);
    return plan == null ? List.of() : UnboundedState.describe(plan, mode);
  }

  /** Returns the plan of a batch in a possible output mode, or null for an error of a value. */
  public SparkPlan batchPlan(OutputMode mode) {
    return planned(mode).plan();
  }

  /**
   * Returns whether Spark's check of the analyzed plan has to be off for the query: it refuses
   * joins below the aggregate of complete mode, and aggregates side by side, which Spark's
   * operators run correctly.
   */
  public boolean mustBypass(OutputMode mode) {
    return Plans.sparkReason(query, mode) != null && runsUnchecked(mode);
  }

  /**
   * Returns whether the query is one aggregate in complete mode over joins that Spark runs in
   * append mode, or a union of aggregates. Other operators of streams above an aggregate would get
   * its whole result with each batch. In update mode, only changes reach the operators above; Spark
   * 4.1 refuses the joins that newer versions run with the same operators.
   */
  private boolean runsUnchecked(OutputMode mode) {
    if (mode.equals(OutputMode.Update()))
      return ChangedResults.isUsed(query)
          || (!SparkVersion.isAtLeast(4, 2) && isUpdateOverJoins(query));
    if (!mode.equals(OutputMode.Complete())) return false;
    if (query instanceof Union)
      return Plans.list(query.children()).stream().allMatch(StreamingCheck::isAggregate);
    return query.exists(StreamingCheck::joinsStreams) && isAggregate(query);
  }

  /** Returns whether a plan is one aggregate over rows that Spark streams in append mode. */
  private static boolean isAggregate(LogicalPlan plan) {
    var aggregate = onlyAggregate(plan);
    if (aggregate == null || Plans.sparkReason(aggregate.child(), OutputMode.Append()) != null)
      return false;
    var rows = Plans.streamLike(aggregate.child());
    var above =
        plan.transformDown(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                node -> node == aggregate, node -> aggregate.withNewChildren(Sequences.of(rows))));
    return Plans.sparkReason(above, OutputMode.Complete()) == null;
  }

  /** Returns whether a plan runs in update mode above joins that return each row once. */
  private static boolean isUpdateOverJoins(LogicalPlan plan) {
    var above =
        plan.transformDown(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                StreamingCheck::joinsFinalRows, Plans::streamLike));
    return Plans.sparkReason(above, OutputMode.Update()) == null;
  }

  /** Returns whether a node joins streams without rows that a later batch could change. */
  private static boolean joinsFinalRows(LogicalPlan node) {
    return joinsStreams(node)
        && !node.exists(StreamingCheck::changesRows)
        && Plans.sparkReason(node, OutputMode.Append()) == null;
  }

  private static boolean changesRows(LogicalPlan node) {
    if (node instanceof Join join && joinsStreams(node))
      return !(join.joinType() instanceof InnerLike || join.joinType() == LeftSemi$.MODULE$);
    return node.isStreaming()
        && (node instanceof Aggregate
            || node instanceof FlatMapGroupsWithState
            || node instanceof TransformWithState);
  }

  /**
   * Returns the only aggregate of a stream, if nothing below it aggregates and all is on its path.
   */
  private static Aggregate onlyAggregate(LogicalPlan plan) {
    var node = plan;
    while (!(node instanceof Aggregate)) {
      if (node.children().size() != 1) return null;
      node = node.children().head();
    }
    var aggregate = (Aggregate) node;
    return Plans.aggregatesStream(aggregate.child()) ? null : aggregate;
  }

  private static boolean joinsStreams(LogicalPlan node) {
    return node instanceof Join join && join.left().isStreaming() && join.right().isStreaming();
  }

  /** Plans a batch of the query, without reading its sources and writing a checkpoint. */
  private Planned plan(OutputMode mode) {
    try {
      var plan = execution(mode).sparkPlan();
      var ofKeys = refusedKey(plan, node -> true, EqualKey::of);
      if (ofKeys != null) return new Planned(plan, ofKeys, true);
      var reason = mode.equals(OutputMode.Append()) ? unclosedGroups(plan) : null;
      return new Planned(plan, reason, false);
    } catch (Exception e) { // a Scala method declares no checked exception
      // Other errors depend on the settings of the job, such as a constant that cannot be cast.
      return new Planned(
          null, e instanceof AnalysisException refusal ? refusal.getSimpleMessage() : null, false);
    }
  }

  private IncrementalExecution execution(OutputMode mode) {
    return SparkCalls.plannedBatch(session, query, mode, false);
  }

  /**
   * Returns the message of a check, which throws UnkeptType, of the keys of Spark's state; or null.
   *
   * @param operators whose keys are checked
   */
  private static String refusedKey(
      SparkPlan plan, Predicate<SparkPlan> operators, Consumer<Expression> check) {
    try {
      plan.foreach(
          node -> {
            if (operators.test(node))
              Plans.list(keys(node))
                  .forEach(key -> check.accept(UnboundedState.asWritten(key, plan)));
            return null;
          });
      return null;
    } catch (StateTypes.UnkeptType e) {
      return e.getMessage();
    }
  }

  private static Seq<Attribute> keys(SparkPlan node) {
    if (node instanceof StateStoreSaveExec save) return save.keyExpressions();
    if (node instanceof SessionWindowStateStoreSaveExec save) return save.keyExpressions();
    return node instanceof BaseStreamingDeduplicateExec duplicates
        ? duplicates.keyExpressions()
        : Sequences.of();
  }

  /** Returns why groups of an aggregate are never final, or null if a watermark closes them. */
  private static String unclosedGroups(SparkPlan plan) {
    var save = plan.find(StreamingCheck::isUnclosed);
    if (save.isEmpty()) return null;
    return "The watermark does not close the groups of the aggregate: none of its grouping columns"
        + " is a window over a column with a WATERMARK, or that column.";
  }

  private static boolean isUnclosed(SparkPlan node) {
    return node instanceof StateStoreSaveExec save && !Plans.hasWatermark(save.keyExpressions());
  }
}
