package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import java.util.function.Consumer;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.status.api.v1.ExecutorSummary;

/**
 * The executors of the cluster, and reports to the engine whenever one is added or removed.
 *
 * <p>A report contains the current state of Spark's scheduler and not the content of an event: the
 * scheduler changes before its listeners are called, so that a later report never has an older
 * state. An excluded executor, to which Spark temporarily assigns no tasks, counts as present.
 */
public final class ClusterExecutors extends SparkListener {
  private static SparkContext watchedContext;
  private static Consumer<String> engine;

  private ClusterExecutors() {}

  /**
   * Reports {"members": ids, "cores": total} now and after every change. The receiver replaces an
   * earlier one.
   */
  public static synchronized void watch(SparkSession session, Consumer<String> receiver)
      throws JsonProcessingException {
    var context = session.sparkContext();
    engine = receiver;
    if (watchedContext != context) context.addSparkListener(new ClusterExecutors());
    watchedContext = context;
    report();
  }

  /** Stops the reports. */
  public static synchronized void unwatch() {
    engine = null;
  }

  @Override
  public void onExecutorAdded(SparkListenerExecutorAdded event) {
    PythonCalls.later(ClusterExecutors::reportChange);
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    PythonCalls.later(ClusterExecutors::reportChange);
  }

  private static void reportChange() {
    try {
      report();
    } catch (Exception e) {
      throw new IllegalStateException("Cannot report the executors to the engine", e);
    }
  }

  /**
   * Reports the current state. The lock prevents an older state from being reported after a newer
   * one.
   */
  private static synchronized void report() throws JsonProcessingException {
    if (engine == null || watchedContext.isStopped()) return;
    ObjectNode state = Json.MAPPER.createObjectNode();
    state.set("members", ids(watchedContext));
    state.put("cores", watchedContext.defaultParallelism());
    engine.accept(Json.MAPPER.writeValueAsString(state));
  }

  /**
   * Returns the ids of the executors; only the driver in local mode and with dynamic allocation.
   */
  private static ArrayNode ids(SparkContext context) {
    ArrayNode ids = Json.MAPPER.createArrayNode();
    if (context.isLocal() || context.executorAllocationManager().isDefined())
      return ids.add("driver");
    asJava(context.getExecutorIds()).forEach(ids::add);
    return ids;
  }

  /**
   * Returns all executors as a JSON array, including the removed ones. Times are in milliseconds
   * since the epoch; `removed` is 0 for an executor that is present.
   */
  public static String list(SparkSession session) throws JsonProcessingException {
    ArrayNode list = Json.MAPPER.createArrayNode();
    for (ExecutorSummary executor :
        asJava(session.sparkContext().statusStore().executorList(false))) {
      list.add(summary(executor));
    }
    return Json.MAPPER.writeValueAsString(list);
  }

  @SuppressWarnings("JavaUtilDate") // the type of the times in ExecutorSummary
  private static ObjectNode summary(ExecutorSummary executor) {
    ObjectNode node = Json.MAPPER.createObjectNode();
    node.put("id", executor.id());
    node.put("address", executor.hostPort());
    node.put("cores", executor.totalCores());
    node.put("active", executor.isActive());
    node.put("excluded", executor.isExcluded());
    node.put("added", executor.addTime().getTime());
    node.put(
        "removed", executor.removeTime().isEmpty() ? 0L : executor.removeTime().get().getTime());
    node.put("reason", executor.removeReason().isEmpty() ? "" : executor.removeReason().get());
    node.put("active_tasks", executor.activeTasks());
    node.put("completed_tasks", executor.completedTasks());
    node.put("failed_tasks", executor.failedTasks());
    node.put("memory", executor.maxMemory());
    return node;
  }
}
