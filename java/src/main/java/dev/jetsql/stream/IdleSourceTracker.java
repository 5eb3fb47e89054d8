package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.StreamingQueryPlanTraverseHelper$;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec;
import org.apache.spark.sql.execution.streaming.runtime.MaxWatermark$;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.MultipleWatermarkPolicy;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The watermark of a query without its idle sources: the earliest watermark of the sources that had
 * rows within the timeout. When all sources are idle, the latest of their watermarks applies, as in
 * Flink, because then none of them waits for another. The watermark never goes back.
 *
 * <p>A source is active when a run begins.
 */
final class IdleSourceTracker extends WatermarkTracker {
  private final MicroBatchExecution query;
  private final MultipleWatermarkPolicy policy;
  private final long timeoutNanos;
  private final Map<UUID, Long> newestRows = new HashMap<>();

  IdleSourceTracker(MicroBatchExecution query, long timeoutMillis) {
    this(
        query,
        MultipleWatermarkPolicy.apply(
            query
                .sparkSessionForStream()
                .conf()
                .get(SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY())),
        timeoutMillis);
  }

  private IdleSourceTracker(
      MicroBatchExecution query, MultipleWatermarkPolicy policy, long millis) {
    super(policy, query.logicalPlan());
    this.query = query;
    this.policy = policy;
    this.timeoutNanos = millis * 1_000_000L;
    var now = System.nanoTime();
    for (var watermark : asJava(watermarkMap().keySet())) newestRows.put(watermark, now);
    super.setWatermark(query.watermarkTracker().currentWatermark());
  }

  @Override
  public synchronized void updateWatermark(SparkPlan batch) {
    var now = System.nanoTime();
    for (var watermark : watermarks(batch)) {
      if (watermark.eventTimeStats().value().count() > 0) newestRows.put(watermark.nodeId(), now);
    }
    super.updateWatermark(batch);
  }

  private static List<EventTimeWatermarkExec> watermarks(SparkPlan batch) {
    return asJava(
        StreamingQueryPlanTraverseHelper$.MODULE$.collectFromUnfoldedPlan(
            batch,
            PartialFunctions.of(
                node -> node instanceof EventTimeWatermarkExec,
                node -> (EventTimeWatermarkExec) node)));
  }

  @Override
  public synchronized long currentWatermark() {
    var all = new ArrayList<Object>();
    var active = new ArrayList<Object>();
    var now = System.nanoTime();
    for (var entry : asJava(watermarkMap()).entrySet()) {
      var millis = entry.getValue().isDefined() ? entry.getValue().get() : (Object) 0L;
      all.add(millis);
      if (now - newestRows.get(entry.getKey()) < timeoutNanos) active.add(millis);
    }
    var chosen =
        active.isEmpty()
            ? MaxWatermark$.MODULE$.chooseGlobalWatermark(Sequences.of(all))
            : policy.chooseGlobalWatermark(Sequences.of(active));
    if (chosen > super.currentWatermark()) advance(chosen);
    return super.currentWatermark();
  }

  /** Moves the watermark between two batches, where Spark expects that it stays. */
  private void advance(long millis) {
    super.setWatermark(millis);
    // Spark remembers the watermark of the next batch from the trigger that found no rows for it.
    query.lastExecution().watermarkPropagator().purge(Long.MAX_VALUE);
  }
}
