package dev.jetsql.rewrites;

import dev.jetsql.plans.Plans;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Finds bodies that compute each row of a stream with tables alone, by joins that Spark refuses
 * over streams: ASOF JOIN and LATERAL. They run as a batch query over the rows of each batch.
 */
final class RowsInBatch {
  private static final String MEANING = "the query runs over the rows of each batch";
  private static final Set<String> ROW_BY_ROW =
      Set.of("Project", "Filter", "SubqueryAlias", "View", "Generate", "EventTimeWatermark");
  private static final Set<String> REFUSED = Set.of("AsOfJoin", "LateralJoin");
  private static final Set<String> STREAM_ON_LEFT =
      Set.of("INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI");
  private static final Set<String> STREAM_ON_RIGHT = Set.of("INNER", "CROSS", "RIGHT OUTER");

  private RowsInBatch() {}

  /** Returns the batch part of a body with these rows, or null. */
  static BatchPart of(LogicalPlan body) {
    var isRefused = false;
    for (var node = body; ; node = streamingChild(node)) {
      if (node == null) return null;
      isRefused |= REFUSED.contains(kind(node));
      if (node.children().isEmpty()) return isRefused ? new BatchPart(body, node, MEANING) : null;
    }
  }

  /**
   * Returns the kind of the first node of a body that needs more than one row of its stream, or
   * null.
   */
  static String firstOther(LogicalPlan body) {
    for (var node = body; !node.children().isEmpty(); ) {
      var child = streamingChild(node);
      if (child == null) return kind(node);
      node = child;
    }
    return null;
  }

  private static String kind(LogicalPlan node) {
    return node.getClass().getSimpleName();
  }

  /** Returns the child that is the stream, or null if the node needs more than one row of it. */
  private static LogicalPlan streamingChild(LogicalPlan node) {
    var streams = Plans.list(node.children()).stream().filter(LogicalPlan::isStreaming).toList();
    if (streams.size() != 1) return null;
    var child = streams.get(0);
    var isLeft = child == node.children().head();
    if (node instanceof Join join) {
      var types = isLeft ? STREAM_ON_LEFT : STREAM_ON_RIGHT;
      return types.contains(join.joinType().sql()) ? child : null;
    }
    var isKept = ROW_BY_ROW.contains(kind(node)) || (REFUSED.contains(kind(node)) && isLeft);
    return isKept ? child : null;
  }
}
