package dev.jetsql.rewrites;

import dev.jetsql.plans.JoinBounds;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RuleProcessor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.InnerLike;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.execution.SerializeFromObjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * Finds joins of streams whose rows Spark would lose although none of them is later than the
 * watermark. Spark accepts them, because a WATERMARK on one side is enough for its check.
 */
final class LostRows {
  private static final String BOUND =
      " A bound needs a WATERMARK on both sides, and compares the columns that have it.";

  private final OutputMode mode;
  private final Map<ExprId, List<Expression>> definitions = new HashMap<>();

  private LostRows(OutputMode mode) {
    this.mode = mode;
  }

  /** Returns why a query loses rows, a sentence, or null. plan: of a batch in the output mode */
  static String refusal(SparkPlan plan, OutputMode mode) {
    var found = new LostRows(mode);
    found.readDefinitions(plan);
    return found.search(plan);
  }

  private void readDefinitions(SparkPlan node) {
    for (var expression : Plans.list(node.expressions())) {
      if (expression instanceof Alias alias)
        definitions.put(alias.exprId(), List.of(alias.child()));
    }
    if (node instanceof UnionExec union) {
      for (int i = 0; i < union.output().size(); i++) {
        var inputs = new ArrayList<Expression>();
        for (var child : Plans.list(union.children()))
          inputs.add((Expression) child.output().apply(i));
        definitions.put(union.output().apply(i).exprId(), inputs);
      }
    }
    Plans.list(node.children()).forEach(this::readDefinitions);
  }

  private String search(SparkPlan node) {
    var reason = node instanceof StreamingSymmetricHashJoinExec join ? refusal(join) : null;
    if (reason == null && drops(node)) {
      var times = new HashSet<ExprId>();
      for (var child : Plans.list(node.children()))
        for (var column : Plans.list(child.output()))
          if (Plans.hasWatermark(column)) addOrigins((Expression) column, times);
      for (var child : Plans.list(node.children()))
        if (reason == null) reason = unbounded(child, times);
    }
    for (var child : Plans.list(node.children())) if (reason == null) reason = search(child);
    return reason;
  }

  /** Returns why a join returns rows without their partners, or loses them, or null. */
  private static String refusal(StreamingSymmetricHashJoinExec join) {
    var haveBoth =
        Plans.hasWatermark(join.left().output()) && Plans.hasWatermark(join.right().output());
    if (!(join.joinType() instanceof InnerLike) && !haveBoth)
      return "An outer join, EXISTS, NOT EXISTS or IN of two streams needs a WATERMARK on both"
          + " sides, and a bound between the columns that have it. Otherwise it returns rows"
          + " without their partners, or loses them.";
    var removed = JoinBounds.of(join);
    var excluding = JoinBounds.excluding(join);
    var waitsLeft = removed.left() || isOneOf(join, LeftOuter$.MODULE$, FullOuter$.MODULE$);
    var waitsRight = removed.right() || isOneOf(join, RightOuter$.MODULE$, FullOuter$.MODULE$);
    if ((excluding.left() || !waitsLeft) && (excluding.right() || !waitsRight)) return null;
    return "The join on "
        + Plans.texts(join.leftKeys())
        + " would remove rows before their partners arrive, or keep rows without a partner for"
        + " ever."
        + BOUND;
  }

  private static boolean isOneOf(StreamingSymmetricHashJoinExec join, JoinType... types) {
    return List.of(types).contains(join.joinType());
  }

  /** Returns whether an operator drops late rows. */
  private boolean drops(SparkPlan node) {
    if (node instanceof StateStoreSaveExec && mode.equals(OutputMode.Complete())) return false;
    return node instanceof WatermarkSupport || node instanceof StreamingSymmetricHashJoinExec;
  }

  /** Adds the ids of a column and of those that it is computed from. */
  private void addOrigins(Expression value, Set<ExprId> ids) {
    value.foreach(
        part -> {
          if (part instanceof Attribute column && ids.add(column.exprId()))
            definitions
                .getOrDefault(column.exprId(), List.of())
                .forEach(each -> addOrigins(each, ids));
          return null;
        });
  }

  /** Returns why rows of a join are dropped as late by an operator above it, or null. */
  private static String unbounded(SparkPlan node, Set<ExprId> times) {
    if (node instanceof SerializeFromObjectExec rows && isByClock(rows.child())) {
      if (Plans.list(rows.output()).stream().anyMatch(each -> times.contains(each.exprId())))
        return "The rows of a join with 'stateTtlMillis' have no watermark, so the operators above"
            + " it would never return a result, or drop its rows as late."
            + BOUND;
    }
    if (node instanceof StreamingSymmetricHashJoinExec join) {
      var excluding = JoinBounds.excluding(join);
      if ((!excluding.left() && hasTime(join.left(), times))
          || (!excluding.right() && hasTime(join.right(), times)))
        return "The watermark would drop rows of the join on "
            + Plans.texts(join.leftKeys())
            + " as late, because a row can wait for its partner for any time."
            + BOUND;
    }
    for (var child : Plans.list(node.children())) {
      var reason = unbounded(child, times);
      if (reason != null) return reason;
    }
    return null;
  }

  private static boolean isByClock(SparkPlan node) {
    var processor = RuleProcessor.of(node);
    return processor != null && processor.isByClock();
  }

  private static boolean hasTime(SparkPlan side, Set<ExprId> times) {
    return Plans.list(side.output()).stream()
        .anyMatch(column -> Plans.hasWatermark(column) && times.contains(column.exprId()));
  }
}
