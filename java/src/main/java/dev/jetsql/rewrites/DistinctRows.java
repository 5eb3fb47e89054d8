package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import dev.jetsql.versions.SparkCalls;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;

/**
 * Replaces DISTINCT and UNION: by Deduplicate in append mode, which returns a row when it first
 * arrives, and by an aggregate in complete mode.
 */
final class DistinctRows {
  private DistinctRows() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    return Plans.transformStreams(
        query, node -> node instanceof Distinct distinct ? rewrite(distinct, mode, uses) : node);
  }

  private static LogicalPlan rewrite(Distinct distinct, OutputMode mode, Uses uses) {
    var child = distinct.child();
    if (mode.equals(OutputMode.Append())) {
      uses.add("DISTINCT keeps the first of equal rows; state: every distinct row");
      return SparkCalls.distinctRows(child.output(), child);
    }
    var columns = Plans.list(child.output());
    return new Aggregate(
        Sequences.of(List.<Expression>copyOf(columns)),
        Sequences.of(List.<NamedExpression>copyOf(columns)),
        child,
        Option.empty());
  }
}
