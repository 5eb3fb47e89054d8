package dev.jetsql.rewrites;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Splits a body of INSERT OVERWRITE: the stream runs to its first aggregate in complete mode, and
 * what is above it runs as a batch query over its whole result.
 */
final class FirstAggregate {
  private static final String MEANING =
      "the stream runs to its first aggregate, and the rest of the query over the aggregate's whole"
          + " result with each batch";

  private FirstAggregate() {}

  /** Returns the batch part of the body, or null if its aggregates do not allow it. */
  static BatchPart split(LogicalPlan body) {
    var lowest = new ArrayList<Aggregate>();
    collect(body, lowest);
    if (lowest.size() != 1 || countStreams(body) != countStreams(lowest.get(0))) return null;
    return new BatchPart(body, lowest.get(0), MEANING);
  }

  /** Adds the aggregates of streams that have no aggregate of a stream below them. */
  private static void collect(LogicalPlan node, List<Aggregate> lowest) {
    if (node instanceof Aggregate aggregate
        && node.isStreaming()
        && !Plans.aggregatesStream(aggregate.child())) {
      lowest.add(aggregate);
    } else {
      Plans.list(node.children()).forEach(child -> collect(child, lowest));
    }
  }

  private static int countStreams(LogicalPlan plan) {
    return (int) Plans.list(plan.collectLeaves()).stream().filter(LogicalPlan::isStreaming).count();
  }
}
