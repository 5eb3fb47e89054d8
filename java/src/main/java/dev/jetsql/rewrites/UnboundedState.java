package dev.jetsql.rewrites;

import dev.jetsql.plans.JoinBounds;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RuleProcessor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StreamingDeduplicateExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import org.apache.spark.sql.streaming.OutputMode;
import scala.collection.immutable.Seq;

/** Finds the state of a streaming query that no watermark removes. */
final class UnboundedState {
  private final OutputMode mode;
  private final List<String> kept = new ArrayList<>();
  private final Map<ExprId, Expression> definitions = new HashMap<>();

  private UnboundedState(OutputMode mode) {
    this.mode = mode;
  }

  /** Returns a phrase for each operator of a plan whose state grows for ever in the output mode. */
  static List<String> describe(SparkPlan plan, OutputMode mode) {
    var found = new UnboundedState(mode);
    found.readDefinitions(plan);
    found.collect(plan);
    return found.kept;
  }

  private void readDefinitions(SparkPlan node) {
    for (var expression : Plans.list(node.expressions())) {
      if (expression instanceof Alias alias) definitions.put(alias.exprId(), alias.child());
    }
    Plans.list(node.children()).forEach(this::readDefinitions);
  }

  private void collect(SparkPlan node) {
    if (node instanceof StateStoreSaveExec save) {
      if (!save.keyExpressions().isEmpty()
          && (mode.equals(OutputMode.Complete()) || !Plans.hasWatermark(save.keyExpressions()))) {
        kept.add("each group by " + names(save.keyExpressions()));
      }
    } else if (node instanceof StreamingDeduplicateExec duplicates) {
      if (!Plans.hasWatermark(duplicates.keyExpressions()))
        kept.add("each distinct value of " + names(duplicates.keyExpressions()));
    } else if (node instanceof StreamingSymmetricHashJoinExec join) {
      describe(join);
    } else if (RuleProcessor.of(node) != null && RuleProcessor.of(node).keptForEver() != null) {
      kept.add(RuleProcessor.of(node).keptForEver());
    }
    Plans.list(node.children()).forEach(this::collect);
  }

  private void describe(StreamingSymmetricHashJoinExec join) {
    var bounds = JoinBounds.of(join);
    if (bounds.areBoth()) return;
    var side =
        !bounds.left() && !bounds.right()
            ? "both sides"
            : bounds.left() ? "the right side" : "the left side";
    Seq<Expression> keys = join.leftKeys();
    kept.add("all rows of %s of the join on %s".formatted(side, Plans.texts(keys)));
  }

  private String names(Seq<Attribute> columns) {
    return Plans.list(columns).stream()
        .map(column -> Plans.text(asWritten(column)))
        .collect(Collectors.joining(", "));
  }

  /** Returns a column of a plan; for one that the optimizer has named, its expression. */
  static Expression asWritten(Attribute column, SparkPlan plan) {
    var found = new UnboundedState(null);
    found.readDefinitions(plan);
    return found.asWritten(column);
  }

  private Expression asWritten(Attribute column) {
    return column.name().startsWith("_groupingexpression")
        ? definitions.getOrDefault(column.exprId(), column)
        : column;
  }
}
