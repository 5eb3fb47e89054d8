package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/** Plans MATCH_RECOGNIZE over tables. A rewrite makes another operator of one over a stream. */
public final class MatchStrategy extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (!(plan instanceof MatchedRows rows)) return Sequences.of();
    if (rows.isStreaming())
      throw MatchErrors.unsupported(
          rows.origin(),
          "MATCH_RECOGNIZE over a stream returns each match once, when it is decided. Write INSERT"
              + " INTO or SINK INTO, without an aggregate or a join of streams above it.");
    return Sequences.of(
        new MatchedRowsExec(planLater(rows.child()), rows.match(), rows.inputs(), rows.output()));
  }
}
