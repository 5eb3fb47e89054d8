package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelationExec;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetReader;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;
import scala.runtime.BoxedUnit;

/** Checks whether Spark's real-time mode can run a query, and how many cores it needs. */
public final class RealTimeCheck {
  /**
   * Options of a Kafka source that limit its batches, which the connector refuses in real-time
   * mode.
   */
  private static final List<String> BATCH_LIMITS =
      List.of("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions");

  private final Set<String> unsupportedNodes = new TreeSet<>();
  private int shuffleTasks;

  private RealTimeCheck() {}

  /**
   * Returns {"refused": reason} if real-time mode cannot run the query, otherwise {"tasks": number
   * of tasks that must run in parallel}.
   *
   * <p>Spark itself reports an unsupported node only in the first batch. Therefore this method
   * plans the query as for a batch and compares the nodes with Spark's list. It requests the
   * partitions of the topics from the brokers.
   */
  public static String check(SparkSession session, LogicalPlan query) throws Exception {
    ObjectNode result = Json.MAPPER.createObjectNode();
    String unsupportedReason = unsupportedReason(query);
    if (unsupportedReason != null) {
      result.put("refused", unsupportedReason);
      return Json.MAPPER.writeValueAsString(result);
    }
    var check = new RealTimeCheck();
    check.readsStream(plan(session, query));
    String limit = batchLimit(query);
    if (limit != null) {
      result.put(
          "refused", "it does not support the option '" + limit + "' of a table in the query");
    } else if (check.unsupportedNodes.isEmpty()) {
      result.put("tasks", partitions(query) + check.shuffleTasks);
    } else {
      result.put("refused", "it does not support " + String.join(", ", check.unsupportedNodes));
    }
    return Json.MAPPER.writeValueAsString(result);
  }

  /**
   * Returns the number of tasks that can run in parallel now; with dynamic allocation, the largest
   * integer.
   */
  public static int cores(SparkSession session) {
    var context = session.sparkContext();
    if (context.executorAllocationManager().isDefined()) return Integer.MAX_VALUE;
    return ClusterExecutors.parallelTasks(context);
  }

  /**
   * Returns Spark's message for a query that its own check refuses, or null when the check passes.
   */
  private static String unsupportedReason(LogicalPlan query) {
    try {
      UnsupportedOperationChecker.checkAdditionalRealTimeModeConstraints(
          query, OutputMode.Update());
      return null;
    } catch (Exception e) {
      return e instanceof AnalysisException refused ? refused.getSimpleMessage() : e.getMessage();
    }
  }

  /** Returns the first option of a table in the query that limits batches, or null. */
  private static String batchLimit(LogicalPlan query) {
    for (StreamingRelationV2 source : sources(query)) {
      for (String option : BATCH_LIMITS) {
        if (source.extraOptions().containsKey(option)) return option;
      }
    }
    return null;
  }

  private static List<StreamingRelationV2> sources(LogicalPlan query) {
    List<StreamingRelationV2> sources = new ArrayList<>();
    query.foreach(
        node -> {
          if (node instanceof StreamingRelationV2 source) sources.add(source);
          return BoxedUnit.UNIT;
        });
    return sources;
  }

  /**
   * Returns the total number of partitions of the query's topics, which the connector requests with
   * the options of each table.
   */
  private static int partitions(LogicalPlan query) throws Exception {
    int partitions = 0;
    for (StreamingRelationV2 source : sources(query)) {
      MicroBatchStream stream =
          ((SupportsRead) source.table())
              .newScanBuilder(source.extraOptions())
              .build()
              .toMicroBatchStream("");
      try {
        KafkaOffsetReader reader = ((KafkaMicroBatchStream) stream).kafkaOffsetReader();
        partitions += reader.fetchLatestOffsets(Option.empty()).size();
      } finally {
        stream.stop();
      }
    }
    return partitions;
  }

  private static SparkPlan plan(SparkSession session, LogicalPlan query) {
    SparkSession clone = session.cloneSession();
    clone.conf().set("spark.sql.adaptive.enabled", "false");
    clone.conf().set("spark.sql.streaming.useStreamlineAggregator", "true");
    return SparkCalls.plannedBatch(clone, query, OutputMode.Update(), true).executedPlan();
  }

  /**
   * Returns whether a node reads rows of a stream. Collects the unsupported nodes and counts the
   * shuffle tasks among such nodes.
   */
  private boolean readsStream(SparkPlan node) {
    if (node instanceof StreamingRelationExec) return true;
    boolean reads = false;
    for (SparkPlan child : asJava(node.children())) reads |= readsStream(child);
    if (!reads) return false;
    if (!isSupported(node)) unsupportedNodes.add(node.nodeName());
    if (node instanceof ShuffleExchangeExec)
      shuffleTasks += node.outputPartitioning().numPartitions();
    return true;
  }

  private static boolean isSupported(SparkPlan node) {
    return SparkCalls.isRealTime(node);
  }
}
