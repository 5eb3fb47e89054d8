package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.plans.Plans;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Option;

/**
 * Keeps a FULL JOIN of two streams from joining NULL with NULL: Spark compares the bytes of keys.
 * Of other joins, its optimizer removes the rows with NULL of one side.
 */
public final class NullKeys extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!plan.isStreaming()) return plan;
    return plan.transformUp(
        PartialFunctions.<LogicalPlan, LogicalPlan>of(
            NullKeys::isFullJoin, node -> withoutNulls((Join) node)));
  }

  private static boolean isFullJoin(LogicalPlan node) {
    return node instanceof Join join
        && join.joinType().equals(FullOuter$.MODULE$)
        && join.condition().isDefined()
        && Plans.keepsState(join);
  }

  private static Join withoutNulls(Join join) {
    var written = join.condition().get();
    var parts = Plans.conjuncts(written);
    var condition = written;
    for (var part : parts) {
      if (!(part instanceof EqualTo equal) || !equal.deterministic()) continue;
      for (var key : Plans.list(equal.children())) {
        Expression isThere = new IsNotNull(key);
        var isKnown = parts.stream().anyMatch(each -> each.semanticEquals(isThere));
        if (key.nullable() && !isKnown) condition = new And(condition, isThere);
      }
    }
    return condition == written
        ? join
        : join.copy(
            join.left(), join.right(), join.joinType(), Option.apply(condition), join.hint());
  }
}
