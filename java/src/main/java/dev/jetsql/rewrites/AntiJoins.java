package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * Replaces an anti join of two streams, such as NOT EXISTS, by an outer join: the rows without a
 * match, which Spark returns when the watermark excludes one. A join without a bound for the times
 * is left as it is.
 */
final class AntiJoins {
  private AntiJoins() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    return Plans.transformStreams(
        query,
        node -> {
          if (!(node instanceof Join join) || !isAntiJoin(join)) return node;
          var matches = withMark(join.right());
          if (!isBounded(join, matches)) return node;
          uses.add(
              "rows of the first stream without a match in the second leave when the watermark"
                  + " excludes a later match; state: the rows of both streams until then");
          return rewrite(join, matches);
        });
  }

  private static boolean isAntiJoin(Join join) {
    return join.joinType().equals(LeftAnti$.MODULE$) && Plans.keepsState(join);
  }

  /** Returns the rows followed by a column that is NULL only in rows without a match. */
  private static LogicalPlan withMark(LogicalPlan rows) {
    var columns = new ArrayList<NamedExpression>(Plans.list(rows.output()));
    columns.add(Plans.alias(Literal$.MODULE$.apply(true), "matched"));
    return new Project(Sequences.of(columns), rows);
  }

  private static Join outerJoin(Join join, LogicalPlan left, LogicalPlan right) {
    return new Join(left, right, LeftOuter$.MODULE$, join.condition(), join.hint());
  }

  /** Returns whether the watermark excludes later matches at some time. */
  private static boolean isBounded(Join join, LogicalPlan matches) {
    var outer = outerJoin(join, Plans.streamLike(join.left()), Plans.streamLike(matches));
    return Plans.sparkReason(outer, OutputMode.Append()) == null;
  }

  private static LogicalPlan rewrite(Join join, LogicalPlan matches) {
    var mark = matches.output().last().withNullability(true);
    return new Project(
        Sequences.of(List.<NamedExpression>copyOf(Plans.list(join.left().output()))),
        new Filter(new IsNull((Expression) mark), outerJoin(join, join.left(), matches)));
  }
}
