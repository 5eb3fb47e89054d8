package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.rewrites.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Replaces window functions in the order of the watermark's column, in append mode, by an operator
 * that keeps each row until the watermark has passed it.
 */
public final class RowsByTime {
  private RowsByTime() {}

  /**
   * What the state of the operator depends on.
   *
   * @param expressions the columns of its rows, its keys and its order
   * @param kept the rows that it keeps, in words
   */
  public record State(List<Expression> expressions, String kept) {}

  /** Returns what the state of a node depends on, or null for any other operator. */
  public static State stateOf(LogicalPlan node) {
    if (!(node instanceof TransformWithState operator)
        || !((Object) operator.statefulProcessor() instanceof RowsByTimeProcessor processor))
      return null;
    var evaluation = processor.evaluation();
    var expressions = new ArrayList<Expression>(Plans.list(evaluation.columns()));
    expressions.addAll(Plans.list(evaluation.partitionBy()));
    expressions.addAll(Plans.list(evaluation.orderBy()));
    return new State(expressions, processor.history().describe());
  }

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    if (!mode.equals(OutputMode.Append())) return query;
    return Plans.transformStreams(
        query, node -> node instanceof Window window ? rewrite(window, uses) : node);
  }

  private static LogicalPlan rewrite(Window window, Uses uses) {
    var history = FrameHistory.of(Plans.list(window.windowExpressions()));
    var keys = keyColumns(window);
    if (history == null || keys == null || !isInOrderOfTime(window)) return window;
    uses.add(
        "OVER (ORDER BY %s) returns each row when the watermark has passed it; state: %s"
            .formatted(Plans.texts(window.orderSpec()), history.describe()),
        "The job drops rows that are later than the watermark or have no time. ROWS, lag() and"
            + " row_number() take rows with equal times in the order of their arrival.");
    return operator(withConstants(window), keys, history);
  }

  /** Returns the window as Spark's optimizer leaves it: the evaluation takes literals as bounds. */
  private static Window withConstants(Window window) {
    var replaced = ReplaceExpressions$.MODULE$.apply(window);
    return (Window)
        replaced.transformExpressions(
            PartialFunctions.<Expression, Expression>of(
                each -> each.foldable() && !(each instanceof Literal),
                each -> Literal.create(each.eval(null), each.dataType())));
  }

  private static boolean isInOrderOfTime(Window window) {
    if (window.orderSpec().isEmpty()) return false;
    var first = window.orderSpec().head();
    return first.direction() == Ascending$.MODULE$ && Plans.hasWatermark(first.child());
  }

  /** Returns the indexes of the columns of PARTITION BY, or null if one is no column. */
  private static int[] keyColumns(Window window) {
    var ids = Plans.list(window.child().output()).stream().map(Attribute::exprId).toList();
    var keys =
        Plans.list(window.partitionSpec()).stream()
            .mapToInt(key -> key instanceof Attribute column ? ids.indexOf(column.exprId()) : -1)
            .toArray();
    return IntStream.of(keys).anyMatch(key -> key < 0) ? null : keys;
  }

  private static LogicalPlan operator(Window window, int[] keys, FrameHistory history) {
    var rows = withUniqueNames(window.child());
    var input = rows.schema();
    var evaluation =
        new FrameEvaluation(
            window.windowExpressions(),
            window.partitionSpec(),
            window.orderSpec(),
            window.child().output());
    var output = input;
    for (var function : Plans.list(window.windowExpressions()))
      output = output.add("c" + output.size(), ((Alias) function).dataType(), true);
    var result =
        Dataset.ofRows(SparkSession.active(), rows)
            .groupByKey(
                new KeyOfRow(IntStream.of(keys).boxed().toList()),
                Encoders.row(keyType(input, keys)))
            .transformWithState(
                new RowsByTimeProcessor(input, output, evaluation, history),
                TimeMode.EventTime(),
                OutputMode.Append(),
                Encoders.row(output));
    return Plans.withColumns(result.queryExecution().analyzed(), window.output().toSeq());
  }

  private static LogicalPlan withUniqueNames(LogicalPlan rows) {
    var columns = new ArrayList<NamedExpression>();
    for (var column : Plans.list(rows.output()))
      columns.add(Plans.alias(column, "c" + columns.size()));
    return new Project(Sequences.of(columns), rows);
  }

  private static StructType keyType(StructType input, int[] keys) {
    var type = new StructType().add("all", DataTypes.IntegerType);
    for (int key : keys) type = type.add("k" + key, input.fields()[key].dataType());
    return type;
  }

  /** Returns the key of a row: a constant, for OVER without PARTITION BY, and the columns. */
  private record KeyOfRow(List<Integer> columns) implements MapFunction<Row, Row> {
    @Override
    public Row call(Row row) {
      var key = new ArrayList<Object>(List.of(0));
      for (int column : columns) key.add(row.get(column));
      return RowFactory.create(key.toArray());
    }
  }
}
