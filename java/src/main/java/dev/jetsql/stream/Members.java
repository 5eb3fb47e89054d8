package dev.jetsql.stream;

import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.function.Consumer;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.status.api.v1.ExecutorSummary;
import scala.collection.Iterator;

/**
 * The executors of Spark's cluster, as its own bookkeeping of them has it, and who is told when they come and go.
 *
 * What is told is not what an event says but who Spark's scheduler has at that moment: it knows before its listeners do,
 * and each that is told later is told the newer state. One that Spark gives no tasks for a while (excluded) is there.
 */
public class Members extends SparkListener {
  private static SparkContext watched;
  private static Consumer engine;

  /** Tell {"members": ids, "cores": of all of them}: now, and whenever a member has joined or is lost. */
  public static synchronized void watch(SparkContext context, Consumer told) throws Exception {
    engine = told;
    if (watched != context) context.addSparkListener(new Members());
    watched = context;
    tell();
  }

  public static synchronized void forget() { engine = null; }

  public void onExecutorAdded(SparkListenerExecutorAdded event) { PythonCalls.later(new Tell()); }

  public void onExecutorRemoved(SparkListenerExecutorRemoved event) { PythonCalls.later(new Tell()); }

  /** Locked while it asks and tells: else an older state could be told behind a newer one. */
  private static synchronized void tell() throws Exception {
    if (engine == null || watched.isStopped()) return;
    ObjectNode there = Json.MAPPER.createObjectNode();
    there.set("members", ids(watched));
    there.put("cores", watched.defaultParallelism());
    engine.accept(Json.MAPPER.writeValueAsString(there));
  }

  /** Where all is in one process that is the driver; so it is where Spark takes and gives back executors as it likes. */
  private static ArrayNode ids(SparkContext context) {
    ArrayNode ids = Json.MAPPER.createArrayNode();
    if (context.isLocal() || context.executorAllocationManager().isDefined()) return ids.add("driver");
    Iterator each = context.getExecutorIds().iterator();
    while (each.hasNext()) ids.add((String) each.next());
    return ids;
  }

  static class Tell implements Runnable {
    public void run() {
      try {
        tell();
      } catch (Exception e) {
        throw new IllegalStateException("Nobody could be told of the members", e);
      }
    }
  }

  /** All of them as JSON, those that are gone too. Times in milliseconds; removed is 0 for those that are there. */
  public static String list(SparkSession session) throws Exception {
    ArrayNode list = Json.MAPPER.createArrayNode();
    Iterator each = session.sparkContext().statusStore().executorList(false).iterator();
    while (each.hasNext()) list.add(member((ExecutorSummary) each.next()));
    return Json.MAPPER.writeValueAsString(list);
  }

  private static ObjectNode member(ExecutorSummary executor) {
    ObjectNode node = Json.MAPPER.createObjectNode();
    node.put("id", executor.id());
    node.put("address", executor.hostPort());
    node.put("cores", executor.totalCores());
    node.put("active", executor.isActive());
    node.put("excluded", executor.isExcluded());
    node.put("added", executor.addTime().getTime());
    node.put("removed", executor.removeTime().isEmpty() ? 0L : ((java.util.Date) executor.removeTime().get()).getTime());
    node.put("reason", executor.removeReason().isEmpty() ? "" : (String) executor.removeReason().get());
    node.put("active_tasks", executor.activeTasks());
    node.put("completed_tasks", executor.completedTasks());
    node.put("failed_tasks", executor.failedTasks());
    node.put("memory", executor.maxMemory());
    return node;
  }
}
