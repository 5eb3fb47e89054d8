package dev.jetsql;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.status.api.v1.ExecutorSummary;
import scala.collection.Iterator;

/** The executors of Spark's cluster, as its own bookkeeping of them has it. */
class Members {

  /** All of them as JSON, those that are gone too. Times in milliseconds; removed is 0 for those that are there. */
  static String list(SparkSession session) throws Exception {
    ArrayNode list = Extension.JSON.createArrayNode();
    Iterator each = session.sparkContext().statusStore().executorList(false).iterator();
    while (each.hasNext()) list.add(member((ExecutorSummary) each.next()));
    return Extension.JSON.writeValueAsString(list);
  }

  private static ObjectNode member(ExecutorSummary executor) {
    ObjectNode node = Extension.JSON.createObjectNode();
    node.put("id", executor.id());
    node.put("address", executor.hostPort());
    node.put("cores", executor.totalCores());
    node.put("active", executor.isActive());
    node.put("excluded", executor.isExcluded());
    node.put("added", executor.addTime().getTime());
    node.put("removed", executor.removeTime().isEmpty() ? 0L : ((java.util.Date) executor.removeTime().get()).getTime());
    node.put("reason", executor.removeReason().isEmpty() ? "" : (String) executor.removeReason().get());
    node.put("active_tasks", executor.activeTasks());
    node.put("failed_tasks", executor.failedTasks());
    node.put("memory", executor.maxMemory());
    return node;
  }
}
