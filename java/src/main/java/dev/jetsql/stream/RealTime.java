package dev.jetsql.stream;

import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.function.BiConsumer;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata$;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataBase;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution$;
import org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist$;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelationExec;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator$;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;
import scala.Tuple4;
import scala.collection.Iterator;

/** Spark's real-time mode: what it can't do, and how a batch of it goes while it lasts. */
public class RealTime {
  private static final String POOL = "spark.scheduler.pool";
  private static final String[] CUTTING = {"maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions"};

  /**
   * As JSON: `refused`, what in a query real-time mode can't do, in Spark's words, missing when it can do all of it; and
   * `tasks`, how many must run at once. Spark itself finds out only in the first batch, so the query is planned as there,
   * up to its sources, and its own list is asked; the topics are asked for their partitions.
   */
  public static String judge(SparkSession session, LogicalPlan query) throws Exception {
    ObjectNode verdict = Json.MAPPER.createObjectNode();
    try {
      UnsupportedOperationChecker$.MODULE$.checkAdditionalRealTimeModeConstraints(query, OutputMode.Update());
    } catch (Exception e) {
      verdict.put("refused", e instanceof AnalysisException ? ((AnalysisException) e).getSimpleMessage() : e.getMessage());
      return Json.MAPPER.writeValueAsString(verdict);
    }
    SparkSession trial = session.cloneSession();
    trial.conf().set("spark.sql.adaptive.enabled", "false");
    trial.conf().set("spark.sql.streaming.useStreamlineAggregator", "true");
    Set refused = new HashSet();
    int[] shuffled = new int[1];
    readsStream(planned(trial, query), refused, shuffled);
    String option = cuttingOption(query);
    if (option != null) {
      verdict.put("refused", "it cuts no batches, and a table that is read says by '" + option + "' how they are cut");
    } else if (refused.isEmpty()) {
      verdict.put("tasks", partitions(query) + shuffled[0]);
    } else {
      List names = new ArrayList(refused);
      java.util.Collections.sort(names);
      verdict.put("refused", "it has no " + String.join(", no ", names));
    }
    return Json.MAPPER.writeValueAsString(verdict);
  }

  /** An option of a table that is read by which the connector does not run in this mode; null for none. */
  private static String cuttingOption(LogicalPlan query) {
    Iterator nodes = query.collect(PartialFunctions.everything()).iterator();
    while (nodes.hasNext()) {
      Object node = nodes.next();
      if (!(node instanceof StreamingRelationV2)) continue;
      for (int i = 0; i < CUTTING.length; i++) {
        if (((StreamingRelationV2) node).extraOptions().containsKey(CUTTING[i])) return CUTTING[i];
      }
    }
    return null;
  }

  /** Of the topics that a query reads, by the connector's own means: with the table's ways in. */
  private static int partitions(LogicalPlan query) throws Exception {
    int partitions = 0;
    Iterator nodes = query.collect(PartialFunctions.everything()).iterator();
    while (nodes.hasNext()) {
      Object node = nodes.next();
      if (!(node instanceof StreamingRelationV2)) continue;
      StreamingRelationV2 relation = (StreamingRelationV2) node;
      MicroBatchStream stream = ((SupportsRead) relation.table()).newScanBuilder(relation.extraOptions()).build()
          .toMicroBatchStream("");
      try {
        Object reader = stream.getClass().getMethod("kafkaOffsetReader", new Class[0]).invoke(stream, new Object[0]);
        Method latest = reader.getClass().getMethod("fetchLatestOffsets", new Class[] {Option.class});
        latest.setAccessible(true);
        partitions += ((scala.collection.Map) latest.invoke(reader, new Object[] {Option.empty()})).size();
      } finally {
        stream.stop();
      }
    }
    return partitions;
  }

  private static SparkPlan planned(SparkSession session, LogicalPlan query) {
    IncrementalExecution$ defaults = IncrementalExecution$.MODULE$;
    return new IncrementalExecution(session, query, OutputMode.Update(), "<none>", UUID.randomUUID(), UUID.randomUUID(),
        0L, Option.empty(), (OffsetSeqMetadataBase) OffsetSeqMetadata$.MODULE$.apply(0L, 0L,
        OffsetSeqMetadata$.MODULE$.apply$default$3()), WatermarkPropagator$.MODULE$.noop(), false,
        defaults.$lessinit$greater$default$12(), defaults.$lessinit$greater$default$13(),
        defaults.$lessinit$greater$default$14(), false, true).executedPlan();
  }

  /** Whether rows of a stream go through a node; nodes among those that are not on Spark's list, and tasks of shuffles. */
  private static boolean readsStream(SparkPlan node, Set refused, int[] shuffled) {
    boolean reads = node instanceof StreamingRelationExec;
    Iterator children = node.children().iterator();
    while (children.hasNext()) if (readsStream((SparkPlan) children.next(), refused, shuffled)) reads = true;
    if (!reads || node instanceof StreamingRelationExec) return reads;
    if (!allowed(node)) refused.add(node.nodeName());
    if (node instanceof ShuffleExchangeExec) shuffled[0] += node.outputPartitioning().numPartitions();
    return true;
  }

  private static boolean allowed(SparkPlan node) {
    return RealTimeModeAllowlist$.MODULE$
        .org$apache$spark$sql$execution$streaming$runtime$RealTimeModeAllowlist$$isAllowed(node);
  }

  /**
   * Tells how a batch goes while it lasts, as often as executors tell the driver of their tasks: ("flow", the rows
   * that it has read so far), from when all of its tasks run.
   */
  public static class Flow extends SparkListener {
    private final String pool;
    private final String run;
    private final EarlyEnds ends;
    private final BiConsumer engine;
    private final Map tasks = new HashMap();
    private final Map rows = new HashMap();
    private final Set started = new HashSet();
    private int job = -1;
    private volatile int most;

    Flow(String pool, String run, EarlyEnds ends, BiConsumer engine) {
      this.pool = pool;
      this.run = run;
      this.ends = ends;
      this.engine = engine;
    }

    public void onJobStart(SparkListenerJobStart event) {
      Properties properties = event.properties();
      if (properties == null || !pool.equals(properties.getProperty(POOL))) return;
      job = event.jobId();
      tasks.clear();
      rows.clear();
      started.clear();
      Iterator stages = event.stageInfos().iterator();
      while (stages.hasNext()) {
        StageInfo stage = (StageInfo) stages.next();
        tasks.put(Integer.valueOf(stage.stageId()), Integer.valueOf(stage.numTasks()));
      }
      most = all();
    }

    /** Have the batch end before its time, and each that begins after it. */
    public void hurry() { ends.end(run); }

    /** The tasks that a batch runs at once; 0 before the first. */
    public int tasks() { return most; }

    public void onTaskStart(SparkListenerTaskStart event) {
      if (tasks.containsKey(Integer.valueOf(event.stageId()))) started.add(Long.valueOf(event.taskInfo().taskId()));
    }

    public void onJobEnd(SparkListenerJobEnd event) {
      if (event.jobId() == job) tasks.clear();
    }

    public void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate event) {
      boolean mine = false;
      Iterator updates = event.accumUpdates().iterator();
      while (updates.hasNext()) {
        Tuple4 update = (Tuple4) updates.next();
        if (!tasks.containsKey(update._2())) continue;
        mine = true;
        rows.put(update._1(), Long.valueOf(read((scala.collection.immutable.Seq) update._4())));
      }
      if (mine && started.size() >= most) engine.accept("flow", String.valueOf(sum()));
    }

    private int all() {
      int all = 0;
      java.util.Iterator each = tasks.values().iterator();
      while (each.hasNext()) all += ((Integer) each.next()).intValue();
      return all;
    }

    private long sum() {
      long sum = 0;
      java.util.Iterator each = rows.values().iterator();
      while (each.hasNext()) sum += ((Long) each.next()).longValue();
      return sum;
    }

    private static long read(scala.collection.immutable.Seq metrics) {
      Iterator each = metrics.iterator();
      while (each.hasNext()) {
        AccumulableInfo metric = (AccumulableInfo) each.next();
        if (metric.name().isEmpty() || metric.update().isEmpty()) continue;
        if ("internal.metrics.input.recordsRead".equals(metric.name().get())) return ((Number) metric.update().get()).longValue();
      }
      return 0;
    }
  }

  /** pool: that the work of the query is in, and no other. run: as its readers know it. */
  public static Flow watch(SparkContext context, String pool, String run, BiConsumer engine) throws Throwable {
    EarlyEnds ends = EarlyEnds.of(context);
    ends.begin(run);
    Flow flow = new Flow(pool, run, ends, engine);
    context.addSparkListener(flow);
    return flow;
  }

  public static void unwatch(SparkContext context, Flow flow) {
    flow.hurry();
    context.removeSparkListener(flow);
  }

  /** The tasks that can run at once on the members that there are now; no bound where Spark takes members as it needs them. */
  public static int cores(SparkContext context) {
    if (context.executorAllocationManager().isDefined()) return Integer.MAX_VALUE;
    return context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile());
  }
}
