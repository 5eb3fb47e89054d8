package dev.jetsql.lookup;

import dev.jetsql.common.Sequences;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/**
 * Plans joins of streams with JDBC tables as lookups. The logical plan stays as it is, so that a
 * checkpoint fits with and without the lookup.
 */
public final class LookupStrategy extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    var lookup = plan instanceof Join join ? LookupJoin.of(join) : null;
    if (lookup == null) return Sequences.of();
    SparkPlan exec =
        new LookupJoinExec(
            planLater(lookup.stream()), planLater(lookup.table()), LookupPlan.of(lookup));
    if (lookup.join().left() == lookup.stream()) return Sequences.of(exec);
    return Sequences.of(new ProjectExec(columns(lookup.join()), exec));
  }

  @SuppressWarnings("unchecked") // attributes are named expressions
  private static Seq<org.apache.spark.sql.catalyst.expressions.NamedExpression> columns(Join join) {
    return (Seq<org.apache.spark.sql.catalyst.expressions.NamedExpression>) (Seq<?>) join.output();
  }
}
