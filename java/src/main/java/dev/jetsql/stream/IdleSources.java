package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.plans.Plans;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;

/**
 * Sources without new rows, which hold back the watermark of a query that reads several.
 *
 * <p>Spark's watermark is the earliest of the watermarks of a query, so it does not move when one
 * source has no rows, and the windows of the other sources stay open.
 */
public final class IdleSources {
  private IdleSources() {}

  /** Returns the reason why no source can hold back the watermark of a query, a phrase, or null. */
  public static String refusal(LogicalPlan query) {
    var watermarks = 0;
    var keepsState = false;
    for (var node : asJava(query.collectWithSubqueries(PartialFunctions.everything()))) {
      if (!node.isStreaming()) continue;
      if (node instanceof EventTimeWatermark) watermarks++;
      else if (Plans.keepsState(node)) keepsState = true;
    }
    if (!keepsState) return "the query keeps no state, so no row waits for a watermark";
    if (watermarks > 1) return null;
    return watermarks == 0
        ? "the query has no WATERMARK"
        : "the query has one WATERMARK, which only its own rows move";
  }

  /**
   * Leaves sources without rows out of the watermark of a query from now on. Called in the query's
   * thread while it runs a batch: Spark reads the watermark after each batch and at each trigger.
   *
   * @param timeoutMillis the time without rows after which a source is idle
   */
  public static void watch(StreamingQuery query, long timeoutMillis) {
    var execution = (MicroBatchExecution) ((StreamingQueryWrapper) query).streamingQuery();
    execution.watermarkTracker_$eq(new IdleSourceTracker(execution, timeoutMillis));
  }
}
