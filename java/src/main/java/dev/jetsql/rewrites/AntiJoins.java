package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.List;
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
 * match, which Spark returns when the watermark excludes one.
 */
final class AntiJoins {
  private AntiJoins() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    return Plans.transformStreams(
        query, node -> node instanceof Join join && isAntiJoin(join) ? rewrite(join, uses) : node);
  }

  private static boolean isAntiJoin(Join join) {
    return join.joinType().equals(LeftAnti$.MODULE$) && Plans.keepsState(join);
  }

  private static LogicalPlan rewrite(Join join, Uses uses) {
    uses.add(
        "rows of the first stream without a match in the second leave when the watermark excludes a"
            + " later match; state: the rows of both streams until then");
    var matched = Plans.alias(Literal$.MODULE$.apply(true), "matched");
    var columns = new ArrayList<NamedExpression>(Plans.list(join.right().output()));
    columns.add(matched);
    var matches = new Project(Sequences.of(columns), join.right());
    var outer = new Join(join.left(), matches, LeftOuter$.MODULE$, join.condition(), join.hint());
    return new Project(
        Sequences.of(List.<NamedExpression>copyOf(Plans.list(join.left().output()))),
        new Filter(new IsNull(matched.toAttribute().withNullability(true)), outer));
  }
}
