package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;

/**
 * Replaces DISTINCT and UNION: by Deduplicate in append mode, which returns a row when it first
 * arrives, and by an aggregate in complete mode.
 */
final class DistinctRows implements RewriteRule {
  @Override
  public String name() {
    return "distinct rows";
  }

  @Override
  public int version() {
    return 1;
  }

  @Override
  public LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    return Plans.transformStreams(
        query,
        node -> {
          if (!(node instanceof Distinct distinct)) return node;
          var child = distinct.child();
          var columns =
              Plans.list(child.output()).stream().map(NamedExpression.class::cast).toList();
          if (!mode.equals(OutputMode.Append())) {
            return new Aggregate(
                Sequences.of(
                    Plans.list(child.output()).stream()
                        .map(each -> (org.apache.spark.sql.catalyst.expressions.Expression) each)
                        .toList()),
                Sequences.of(columns),
                child,
                Option.empty());
          }
          uses.add("DISTINCT keeps the first of equal rows; state: every distinct row");
          return new Deduplicate(child.output(), child, Option.empty());
        });
  }
}
