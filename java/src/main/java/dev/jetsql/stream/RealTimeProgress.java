package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import dev.jetsql.scheduling.FairPools;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.BiConsumer;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.SparkSession;

/**
 * Reports the progress of a real-time batch while it runs, with every heartbeat of its executors:
 * ("flow", the number of rows that the batch has read). The reports begin when all tasks of the
 * batch are running.
 */
public final class RealTimeProgress extends SparkListener {
  private static final String RECORDS_READ = "internal.metrics.input.recordsRead";

  private final String pool;
  private final String run;
  private final EarlyBatchEndCoordinator coordinator;
  private final BiConsumer<String, String> engine;
  private final Map<Integer, Integer> tasksByStage = new HashMap<>();
  private final Map<Object, Long> rowsByTask = new HashMap<>();
  private final Set<Long> startedTasks = new HashSet<>();
  private int job = -1;
  private volatile int tasks;

  private RealTimeProgress(
      String pool,
      String run,
      EarlyBatchEndCoordinator coordinator,
      BiConsumer<String, String> engine) {
    this.pool = pool;
    this.run = run;
    this.coordinator = coordinator;
    this.engine = engine;
  }

  /**
   * Watches the batches of a run.
   *
   * @param pool the scheduler pool that only this run uses
   * @param run the id with which the readers of the run request the early end of a batch
   */
  public static RealTimeProgress watch(
      SparkSession session, String pool, String run, BiConsumer<String, String> engine) {
    var context = session.sparkContext();
    var coordinator = EarlyBatchEndCoordinator.of(context);
    coordinator.register(run);
    var progress = new RealTimeProgress(pool, run, coordinator, engine);
    context.addSparkListener(progress);
    return progress;
  }

  /** Ends the run's batches and stops the reports. */
  public static void unwatch(SparkSession session, RealTimeProgress progress) {
    progress.endBatches();
    session.sparkContext().removeSparkListener(progress);
  }

  /** Ends the running batch early, and every later batch immediately. */
  public void endBatches() {
    coordinator.endBatches(run);
  }

  /** Returns the number of tasks that a batch runs in parallel, or 0 before the first batch. */
  public int tasks() {
    return tasks;
  }

  @Override
  public void onJobStart(SparkListenerJobStart event) {
    Properties properties = event.properties();
    if (properties == null || !pool.equals(properties.getProperty(FairPools.POOL))) return;
    job = event.jobId();
    tasksByStage.clear();
    rowsByTask.clear();
    startedTasks.clear();
    for (StageInfo stage : asJava(event.stageInfos()))
      tasksByStage.put(stage.stageId(), stage.numTasks());
    tasks = tasksByStage.values().stream().mapToInt(Integer::intValue).sum();
  }

  @Override
  public void onTaskStart(SparkListenerTaskStart event) {
    if (tasksByStage.containsKey(event.stageId())) startedTasks.add(event.taskInfo().taskId());
  }

  @Override
  public void onJobEnd(SparkListenerJobEnd event) {
    if (event.jobId() == job) tasksByStage.clear();
  }

  @Override
  public void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate event) {
    boolean isOfBatch = false;
    for (var update : asJava(event.accumUpdates())) { // task, stage, attempt, metrics
      if (!tasksByStage.containsKey(update._2())) continue;
      isOfBatch = true;
      rowsByTask.put(update._1(), recordsRead(asJava(update._4())));
    }
    if (isOfBatch && startedTasks.size() >= tasks) {
      long rows = rowsByTask.values().stream().mapToLong(Long::longValue).sum();
      engine.accept("flow", String.valueOf(rows));
    }
  }

  private static long recordsRead(List<AccumulableInfo> metrics) {
    for (AccumulableInfo metric : metrics) {
      if (metric.name().isEmpty() || metric.update().isEmpty()) continue;
      if (RECORDS_READ.equals(metric.name().get()))
        return ((Number) metric.update().get()).longValue();
    }
    return 0;
  }
}
