package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.UUID;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution$;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * Spark's checks of a streaming query: those of the analyzed plan, and those that Spark makes only
 * when it plans or runs the first batch.
 */
public final class StreamingCheck {
  private StreamingCheck() {}

  /** Returns why Spark cannot run the query in an output mode, or null if it can. */
  public static String reason(SparkSession session, LogicalPlan query, OutputMode mode) {
    var reason = logicalReason(query, mode);
    return reason == null ? physicalReason(session, query, mode) : reason;
  }

  /** Returns the reason of the check of the analyzed plan alone. */
  public static String logicalReason(LogicalPlan query, OutputMode mode) {
    var reason = sparkReason(query, mode);
    return reason != null && isCompleteAboveJoins(query, mode) ? null : reason;
  }

  /**
   * Returns whether Spark's check of the analyzed plan has to be off for the query: it refuses
   * joins below the aggregate of complete mode, which Spark's operators run correctly.
   */
  public static boolean mustBypass(LogicalPlan query, OutputMode mode) {
    return sparkReason(query, mode) != null && isCompleteAboveJoins(query, mode);
  }

  private static String sparkReason(LogicalPlan query, OutputMode mode) {
    try {
      UnsupportedOperationChecker.checkForStreaming(query, mode);
      return null;
    } catch (Exception e) { // a Scala method declares no checked exception
      return message(e);
    }
  }

  private static String message(Exception e) {
    return e instanceof AnalysisException analysis ? analysis.getSimpleMessage() : e.getMessage();
  }

  /**
   * Returns whether the query is one aggregate in complete mode over joins that Spark runs in
   * append mode. Other operators of streams above the aggregate would get its whole result with
   * each batch.
   */
  private static boolean isCompleteAboveJoins(LogicalPlan query, OutputMode mode) {
    if (!mode.equals(OutputMode.Complete())) return false;
    var aggregate = onlyAggregate(query);
    if (aggregate == null || !aggregate.child().exists(StreamingCheck::joinsStreams)) return false;
    if (sparkReason(aggregate.child(), OutputMode.Append()) != null) return false;
    var rows = new LocalRelation(aggregate.child().output(), Sequences.of(), true, Option.empty());
    var above =
        query.transformDown(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                node -> node == aggregate, node -> aggregate.withNewChildren(Sequences.of(rows))));
    return sparkReason(above, mode) == null;
  }

  /**
   * Returns the only aggregate of a stream, if nothing below it aggregates and all is on its path.
   */
  private static Aggregate onlyAggregate(LogicalPlan query) {
    var node = query;
    while (!(node instanceof Aggregate)) {
      if (node.children().size() != 1) return null;
      node = node.children().head();
    }
    var aggregate = (Aggregate) node;
    return Plans.aggregatesStream(aggregate.child()) ? null : aggregate;
  }

  private static boolean joinsStreams(LogicalPlan node) {
    return node instanceof Join join && join.left().isStreaming() && join.right().isStreaming();
  }

  private static String physicalReason(SparkSession session, LogicalPlan query, OutputMode mode) {
    try {
      var plan = physicalPlan(session, query, mode);
      return mode.equals(OutputMode.Append()) ? unclosedGroups(plan) : null;
    } catch (Exception e) { // a Scala method declares no checked exception
      // Other errors depend on the settings of the job, such as a constant that cannot be cast.
      return e instanceof AnalysisException ? message(e) : null;
    }
  }

  /** Plans a batch of the query, without reading its sources and writing a checkpoint. */
  static SparkPlan physicalPlan(SparkSession session, LogicalPlan query, OutputMode mode) {
    var defaults = IncrementalExecution$.MODULE$;
    var execution =
        new IncrementalExecution(
            session,
            query,
            mode,
            "",
            UUID.randomUUID(),
            UUID.randomUUID(),
            0,
            Option.empty(),
            new OffsetSeqMetadata(0, 0, Map$.MODULE$.empty()),
            WatermarkPropagator.noop(),
            false,
            defaults.$lessinit$greater$default$12(),
            defaults.$lessinit$greater$default$13(),
            defaults.$lessinit$greater$default$14(),
            defaults.$lessinit$greater$default$15(),
            defaults.$lessinit$greater$default$16());
    return execution.sparkPlan();
  }

  /** Returns why groups of an aggregate are never final, or null if a watermark closes them. */
  private static String unclosedGroups(SparkPlan plan) {
    var save = plan.find(StreamingCheck::isUnclosed);
    if (save.isEmpty()) return null;
    return "The watermark does not close the groups of the aggregate: none of its grouping columns"
        + " is a window over a column with a WATERMARK, or that column.";
  }

  private static boolean isUnclosed(SparkPlan node) {
    return node instanceof StateStoreSaveExec save
        && Plans.list(save.keyExpressions()).stream()
            .noneMatch(key -> key.metadata().contains(Plans.WATERMARK));
  }
}
