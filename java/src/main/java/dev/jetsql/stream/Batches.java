package dev.jetsql.stream;

import dev.jetsql.common.Json;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.DataFrameWriter;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.collection.Iterator;

/** What a batch of a stream reads, and what writing it comes to. */
public class Batches {
  static final long UNKNOWN = -1L;

  /** Bytes of the files that the batch reads; UNKNOWN when it reads from something else, or is none of a stream's. */
  public static long inputBytes(Dataset rows) {
    LogicalPlan plan = rows.queryExecution().logical();
    return plan instanceof LogicalRDD ? inputBytes(((LogicalRDD) plan).rdd()) : UNKNOWN;
  }

  private static long inputBytes(RDD rdd) {
    if (rdd instanceof FileScanRDD) return fileBytes((FileScanRDD) rdd);
    if (rdd.dependencies().isEmpty()) {
      return rdd instanceof ParallelCollectionRDD || rdd.getNumPartitions() == 0 ? 0L : UNKNOWN;
    }
    long sum = 0L;
    Iterator each = rdd.dependencies().iterator();
    while (each.hasNext()) {
      long part = inputBytes(((Dependency) each.next()).rdd());
      if (part == UNKNOWN) return UNKNOWN;
      sum += part;
    }
    return sum;
  }

  private static long fileBytes(FileScanRDD rdd) {
    long sum = 0L;
    Iterator each = rdd.filePartitions().iterator();
    while (each.hasNext()) {
      PartitionedFile[] files = ((FilePartition) each.next()).files();
      for (int i = 0; i < files.length; i++) sum += files[i].length();
    }
    return sum;
  }

  /**
   * The files that the running batch of a query was planned to read and that are not there any more, as a JSON array.
   * Spark leaves them out without a word: it looks for them once more when it makes the batch, and lists what it finds.
   */
  public static String missingFiles(StreamingQuery query) throws Exception {
    ArrayNode missing = Json.MAPPER.createArrayNode();
    StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
    Iterator leaves = execution.lastExecution().logical().collectLeaves().iterator();
    while (leaves.hasNext()) {
      Object leaf = leaves.next();
      if (!(leaf instanceof LogicalRelation)) continue;
      Object relation = ((LogicalRelation) leaf).relation();
      if (!(relation instanceof HadoopFsRelation)) continue;
      Object index = ((HadoopFsRelation) relation).location();
      if (index instanceof PartitioningAwareFileIndex) addMissing((PartitioningAwareFileIndex) index, missing);
    }
    return Json.MAPPER.writeValueAsString(missing);
  }

  private static void addMissing(PartitioningAwareFileIndex index, ArrayNode missing) {
    if (index.allFiles().size() >= index.rootPaths().size()) return;
    Set found = new HashSet();
    Iterator files = index.allFiles().iterator();
    while (files.hasNext()) found.add(((FileStatus) files.next()).getPath());
    Iterator planned = index.rootPaths().iterator();
    while (planned.hasNext()) {
      Object path = planned.next();
      if (!found.contains(path)) missing.add(path.toString());
    }
  }

  public static int parts(Dataset rows) {
    LogicalPlan plan = rows.queryExecution().logical();
    return plan instanceof LogicalRDD ? ((LogicalRDD) plan).rdd().getNumPartitions() : 0;
  }

  /** Run a write into a folder: {"rows", "bytes"} as Spark counts them anyway. An Observation would look at each row. */
  public static String write(SparkSession session, DataFrameWriter writer, String folder) throws Exception {
    LogicalPlan command = writer.saveCommand(Option.apply((Object) folder));
    CommandResult done = (CommandResult) Dataset.ofRows(session, command).queryExecution().commandExecuted();
    SparkPlan plan = innermost(done.commandPhysicalPlan());
    ObjectNode written = Json.MAPPER.createObjectNode();
    written.put("rows", metric(plan, "numOutputRows"));
    written.put("bytes", metric(plan, "numOutputBytes"));
    return Json.MAPPER.writeValueAsString(written);
  }

  /** The writing itself: adaptive execution wraps it, more than once when there is an exchange below it. */
  private static SparkPlan innermost(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) return innermost(((AdaptiveSparkPlanExec) plan).executedPlan());
    if (plan instanceof QueryStageExec) return innermost(((QueryStageExec) plan).plan());
    return plan;
  }

  private static Long metric(SparkPlan plan, String name) {
    return (Long) ((AccumulatorV2) plan.metrics().apply(name)).value();
  }
}
