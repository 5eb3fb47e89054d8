package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RowJson;
import dev.jetsql.rewrites.bytime.ByTimeProcessor;
import dev.jetsql.rewrites.bytime.StreamRows;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.DeduplicateWithinWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport;
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport$;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType$;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;

/**
 * The rows of a batch that Spark drops because the watermark has passed them.
 *
 * <p>Spark only counts them. They are computed a second time, from the query below the stateful
 * operator over the same offsets, with Spark's own condition.
 */
public final class LateRows {
  private static final String DROPPED = "numRowsDroppedByWatermark";

  private LateRows() {}

  /**
   * Returns the reason why the late rows of a resolved query cannot be kept, a phrase, or null.
   *
   * @param isComplete whether the query returns its complete result in each batch
   */
  public static String refusal(LogicalPlan query, boolean isComplete) {
    var nodes = asJava(query.collectWithSubqueries(PartialFunctions.everything()));
    if (nodes.stream().noneMatch(LateRows::keepsState))
      return "the query keeps no state, so it drops no rows";
    if (nodes.stream().noneMatch(node -> node.isStreaming() && node instanceof EventTimeWatermark))
      return "the query has no WATERMARK";
    var dropping = nodes.stream().filter(node -> drops(node, isComplete)).toList();
    if (dropping.isEmpty())
      return isComplete
          ? "a complete result drops no rows"
          : "its operator "
              + nodes.stream().filter(LateRows::keepsState).findFirst().get().nodeName()
              + " does not drop late rows";
    var operator = dropping.get(0);
    if (dropping.size() > 1 || operator.exists(node -> node != operator && keepsState(node)))
      return "the query keeps state in several operators";
    for (var input : inputs(operator)) {
      if (!RowJson.isPossible(Plans.list(input.rows().output())))
        return "a column of the query cannot be converted to JSON";
    }
    return null;
  }

  private static boolean keepsState(LogicalPlan node) {
    return node.isStreaming() && Plans.keepsState(node);
  }

  /** Returns whether an operator drops late rows. In complete mode, an aggregate keeps them. */
  private static boolean drops(LogicalPlan node, boolean isComplete) {
    var isResult = node instanceof Aggregate || node instanceof Distinct;
    return keepsState(node) && !(isComplete && isResult) && !inputs(node).isEmpty();
  }

  /** Returns the rows of each stream that an operator compares with the watermark. */
  private static List<StreamRows> inputs(LogicalPlan operator) {
    if (operator instanceof Join join) return JoinInputs.of(join);
    var time = eventTime(operator);
    return time == null
        ? ByTimeProcessor.streams(operator)
        : List.of(new StreamRows(null, rows(operator), time, null));
  }

  /** Returns the column that an operator of Spark compares with the watermark, or null. */
  private static Attribute eventTime(LogicalPlan operator) {
    List<? extends Expression> columns = List.of();
    if (operator instanceof Aggregate aggregate) columns = asJava(aggregate.groupingExpressions());
    else if (operator instanceof Deduplicate
        || operator instanceof DeduplicateWithinWatermark
        || operator instanceof Distinct) // Spark makes an aggregate of it
    columns = asJava(rows(operator).output());
    for (var column : columns)
      if (column instanceof Attribute found && Plans.hasWatermark(found)) return found;
    return null;
  }

  private static LogicalPlan rows(LogicalPlan operator) {
    return ((UnaryNode) operator).child();
  }

  /**
   * Returns the late rows of the batch that a query has just written, with the columns watermark,
   * source, event_time and row (JSON), or null when there are none.
   *
   * @param session the session that has started the query, and no other
   */
  public static Dataset<Row> ofBatch(SparkSession session) {
    var query = (StreamingQueryWrapper) session.streams().active()[0];
    var execution = query.streamingQuery().lastExecution();
    var dropping = execution.executedPlan().find(node -> dropped(node) > 0);
    return dropping.isEmpty() ? null : lateRows(execution, dropping.get());
  }

  private static long dropped(SparkPlan operator) {
    var metric = operator.metrics().get(DROPPED);
    return metric.isEmpty() ? 0 : (Long) ((AccumulatorV2<?, ?>) metric.get()).value();
  }

  private static Dataset<Row> lateRows(IncrementalExecution execution, SparkPlan dropping) {
    var operator =
        asJava(execution.analyzed().collect(PartialFunctions.<LogicalPlan>everything())).stream()
            .filter(node -> drops(node, execution.outputMode().equals(OutputMode.Complete())))
            .findFirst()
            .orElseThrow();
    var late = new ArrayList<LogicalPlan>();
    var inputs =
        dropping instanceof StreamingSymmetricHashJoinExec join
            ? JoinInputs.of((Join) operator, join)
            : inputs(operator);
    for (var input : inputs) late.add(lateRows(input, execution, watermark(dropping)));
    return Dataset.ofRows(
        execution.sparkSession(),
        late.size() == 1 ? late.get(0) : new Union(Sequences.of(late), false, false));
  }

  /** Returns the watermark in milliseconds with which an operator has dropped late rows. */
  private static Object watermark(SparkPlan dropping) {
    return dropping instanceof StreamingSymmetricHashJoinExec join
        ? join.eventTimeWatermarkForLateEvents().get()
        : ((WatermarkSupport) dropping).eventTimeWatermarkForLateEvents().get();
  }

  private static LogicalPlan lateRows(
      StreamRows input, IncrementalExecution execution, Object millis) {
    var time = input.time();
    var late =
        WatermarkSupport$.MODULE$
            .watermarkExpression(Option.apply(time), Option.apply(millis))
            .get()
            .transformUp(PartialFunctions.of(node -> true, node -> typed(node, time)));
    var condition = input.condition() == null ? late : new And(late, input.condition());
    var rows = new Filter(condition, asBatch(input.rows(), execution));
    var columns =
        List.<NamedExpression>of(
            Plans.alias(timestamp((Long) millis * 1000L), "watermark"),
            Plans.alias(Literal.create(input.name(), StringType$.MODULE$), "source"),
            Plans.alias(instant(rows.output(), time), "event_time"),
            Plans.alias(RowJson.of(Plans.list(rows.output()), execution.sparkSession()), "row"));
    return new Project(Sequences.of(columns), rows);
  }

  /** Returns a node of Spark's condition over the column of the logical plan, with its type. */
  private static Expression typed(Expression node, Attribute time) {
    if (node instanceof Attribute) return time;
    return node instanceof Literal literal ? timestamp((Long) literal.value()) : node;
  }

  private static Literal timestamp(long micros) {
    return new Literal(micros, TimestampType$.MODULE$);
  }

  /** Returns the time of a row: for a window, the column with the watermark that is no window. */
  private static Expression instant(
      scala.collection.immutable.Seq<Attribute> columns, Attribute time) {
    if (!(time.dataType() instanceof StructType)) return time;
    for (var column : asJava(columns)) {
      var isTime = Plans.hasWatermark(column) && !(column.dataType() instanceof StructType);
      if (isTime) return column;
    }
    return new Literal(null, TimestampType$.MODULE$);
  }

  /** Returns a plan of a batch's stream as a batch query over the same rows. */
  private static LogicalPlan asBatch(LogicalPlan plan, IncrementalExecution execution) {
    return plan.transformUp(
        PartialFunctions.<LogicalPlan, LogicalPlan>of(
            node -> node instanceof EventTimeWatermark || isStreamingLeaf(node),
            node ->
                node instanceof EventTimeWatermark watermark
                    ? watermark.child()
                    : asBatchLeaf(node, execution)));
  }

  private static boolean isStreamingLeaf(LogicalPlan node) {
    return node.children().isEmpty() && node.isStreaming();
  }

  private static LogicalPlan asBatchLeaf(LogicalPlan leaf, IncrementalExecution execution) {
    if (leaf instanceof LogicalRelation files)
      return files.copy(
          files.relation(), files.output(), files.catalogTable(), false, Option.empty());
    var planned = execution.planner().plan(leaf).next();
    return SparkCalls.rows(leaf.output(), planned.execute(), execution.sparkSession());
  }
}
