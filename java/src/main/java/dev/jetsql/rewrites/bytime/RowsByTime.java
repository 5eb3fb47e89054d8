package dev.jetsql.rewrites.bytime;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;

/**
 * Replaces window functions in the order of the watermark's column, in append mode, by an operator
 * that keeps each row until the watermark has passed it.
 */
public final class RowsByTime {
  /** The version whose state has keys in one form, and the rows that are read over NULLs. */
  private static final int COMPLETE_STATE = 2;

  private RowsByTime() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  public static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    if (!mode.equals(OutputMode.Append())) return query;
    return Plans.transformStreams(
        query, node -> node instanceof Window window ? rewrite(window, uses) : node);
  }

  private static LogicalPlan rewrite(Window window, Uses uses) {
    var frames = FrameHistory.of(Plans.list(window.windowExpressions()));
    var keys = keyColumns(window);
    if (frames == null || keys == null || !isInOrderOfTime(window)) return window;
    var evaluated = withConstants(window);
    var lookBacks =
        LookBack.of(Plans.list(evaluated.windowExpressions()), evaluated.child().output());
    var history =
        frames.with(lookBacks, ZoneId.of(SQLConf.get().sessionLocalTimeZone(), ZoneId.SHORT_IDS));
    uses.add(
        "OVER (ORDER BY %s) returns each row when the watermark has passed it; state: %s"
            .formatted(Plans.texts(window.orderSpec()), history.describe(isRunning(window))),
        "The job drops rows that are later than the watermark or have no time. ROWS, lag() and"
            + " row_number() take rows with equal times in the order of their arrival.",
        history.lookBacks().isEmpty() && !EqualKey.hasSeveralForms(window.partitionSpec())
            ? 0
            : COMPLETE_STATE);
    return operator(evaluated, keys, history);
  }

  private static boolean isRunning(Window window) {
    return Plans.list(window.windowExpressions()).stream().anyMatch(RunningValues::isRunning);
  }

  /** Returns the window as Spark's optimizer leaves it: the evaluation takes literals as bounds. */
  private static Window withConstants(Window window) {
    var replaced = Plans.withoutReplaceable(window);
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
    var framed = functions(window, each -> !RunningValues.isRunning(each));
    var running = functions(window, RunningValues::isRunning);
    var functions = new ArrayList<>(framed);
    functions.addAll(running);
    var columns = window.child().output();
    var evaluation =
        new FrameEvaluation(
            Sequences.of(framed), window.partitionSpec(), window.orderSpec(), columns);
    var rows = Plans.withUniqueNames(window.child());
    var input = rows.schema();
    var output = input;
    var names = new ArrayList<>(Plans.list(columns));
    for (var function : functions) {
      output = output.add("c" + output.size(), ((Alias) function).dataType(), true);
      names.add(function.toAttribute());
    }
    var processor =
        new RowsByTimeProcessor(
            input,
            output,
            evaluation,
            history,
            new RunningValues(running, evaluation.order(), columns));
    var named =
        processor.over(
            rows,
            IntStream.of(keys).boxed().toList(),
            Sequences.of(names),
            TimeMode.EventTime(),
            OutputMode.Append());
    return new Project(
        Sequences.of(List.<NamedExpression>copyOf(Plans.list(window.output()))), named);
  }

  private static List<NamedExpression> functions(Window window, Predicate<NamedExpression> which) {
    return Plans.list(window.windowExpressions()).stream().filter(which).toList();
  }
}
