package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.jetsql.common.Json;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;

/** The files, partitions and rows of a micro-batch. */
public final class Batches {
  private static final long UNKNOWN = -1L;

  private Batches() {}

  /**
   * Returns the size in bytes of the files that a batch reads, or -1 when it has other sources or
   * the rows are not a batch of a streaming query.
   */
  public static long inputBytes(Dataset<?> rows) {
    return rows.queryExecution().logical() instanceof LogicalRDD batch
        ? inputBytes(batch.rdd())
        : UNKNOWN;
  }

  private static long inputBytes(RDD<?> rdd) {
    if (rdd instanceof FileScanRDD scan) return fileBytes(scan);
    if (rdd.dependencies().isEmpty()) {
      return rdd instanceof ParallelCollectionRDD || rdd.getNumPartitions() == 0 ? 0L : UNKNOWN;
    }
    long sum = 0L;
    for (Dependency<?> dependency : asJava(rdd.dependencies())) {
      long bytes = inputBytes(dependency.rdd());
      if (bytes == UNKNOWN) return UNKNOWN;
      sum += bytes;
    }
    return sum;
  }

  private static long fileBytes(FileScanRDD scan) {
    return asJava(scan.filePartitions()).stream()
        .flatMap(partition -> Arrays.stream(partition.files()))
        .mapToLong(PartitionedFile::length)
        .sum();
  }

  /**
   * Returns the files that the running batch of a query was planned to read and that no longer
   * exist, as a JSON array. Spark skips them without a warning: it lists the files again when it
   * creates the batch, and reads the existing ones.
   */
  public static String missingFiles(StreamingQuery query) throws JsonProcessingException {
    ArrayNode missing = Json.MAPPER.createArrayNode();
    LogicalPlan batch = ((StreamingQueryWrapper) query).streamingQuery().lastExecution().logical();
    for (LogicalPlan leaf : asJava(batch.collectLeaves())) {
      if (leaf instanceof LogicalRelation relation
          && relation.relation() instanceof HadoopFsRelation files
          && files.location() instanceof PartitioningAwareFileIndex index) {
        addMissing(index, missing);
      }
    }
    return Json.MAPPER.writeValueAsString(missing);
  }

  private static void addMissing(PartitioningAwareFileIndex index, ArrayNode missing) {
    if (index.allFiles().size() >= index.rootPaths().size()) return;
    var existing =
        asJava(index.allFiles()).stream().map(FileStatus::getPath).collect(Collectors.toSet());
    for (Path planned : asJava(index.rootPaths())) {
      if (!existing.contains(planned)) missing.add(planned.toString());
    }
  }

  /**
   * Returns the number of partitions of a batch, or 0 when the rows are not a batch of a streaming
   * query.
   */
  public static int partitions(Dataset<?> rows) {
    return rows.queryExecution().logical() instanceof LogicalRDD batch
        ? batch.rdd().getNumPartitions()
        : 0;
  }

  /**
   * Returns the rows of a batch without information about their ordering. For a batch that is
   * sorted by a column of its source, `LogicalRDD.fromDataset` declares an ordering by a column
   * that the batch does not contain, and Spark then cannot persist it.
   */
  public static Dataset<Row> withoutOrdering(Dataset<Row> rows) {
    return rows.sparkSession()
        .internalCreateDataFrame(rows.queryExecution().toRdd(), rows.schema(), false);
  }

  /**
   * Returns the number of rows of a batch that is stored in the cache, with no further job of Spark
   * if all of them have been read.
   */
  public static long countStored(Dataset<Row> rows) {
    var plan =
        Dataset.ofRows(rows.sparkSession(), rows.queryExecution().logical())
            .queryExecution()
            .withCachedData();
    if (!(plan instanceof InMemoryRelation stored)
        || !stored.cacheBuilder().isCachedColumnBuffersLoaded()) return rows.count();
    return stored.computeStats().rowCount().get().toLong();
  }
}
