package dev.jetsql.files;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import dev.jetsql.common.ActiveSession;
import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import dev.jetsql.versions.CaseClasses;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;

/**
 * The write of batches to folders, in the format of a table. Spark plans it for the first batch.
 * The next ones only replace the folder and the rows, which the streaming query has planned
 * already.
 */
public final class BatchWrite {
  private final String provider;
  private final Map<String, String> options;
  private final List<String> partitions;
  private InsertIntoHadoopFsRelationCommand planned;

  private BatchWrite(String provider, Map<String, String> options, List<String> partitions) {
    this.provider = provider;
    this.options = options;
    this.partitions = partitions;
  }

  /**
   * Returns the write in a format.
   *
   * @param options the options of the format, as a JSON object
   * @param partitions the names of the partition columns, as a JSON array
   */
  public static BatchWrite of(String provider, String options, String partitions)
      throws JsonProcessingException {
    return new BatchWrite(
        provider,
        Json.MAPPER.readValue(options, new TypeReference<>() {}),
        Json.MAPPER.readValue(partitions, new TypeReference<>() {}));
  }

  /**
   * Writes rows to a folder and returns {"rows", "bytes"} from Spark's metrics. An Observation
   * would have to process every row.
   */
  public String write(Dataset<Row> rows, String folder) throws JsonProcessingException {
    var session = rows.sparkSession();
    if (planned == null || !planned.query().schema().equals(rows.schema())) {
      planned = plan(rows, folder);
    }
    LogicalPlan query = rows.queryExecution().withCachedData();
    if (!isPlanned(query)) return counts(execute(session, command(rows.logicalPlan(), folder)));
    var command = command(query, folder);
    ActiveSession.call(session, () -> command.run(session, physical(session, query)));
    return counts(command.metrics());
  }

  /** Returns the analyzed command, without the rows, whose plan would stay in memory. */
  private InsertIntoHadoopFsRelationCommand plan(Dataset<Row> rows, String folder) {
    var writer = rows.write().format(provider).mode(SaveMode.Overwrite).options(options);
    if (!partitions.isEmpty()) writer.partitionBy(partitions.toArray(String[]::new));
    LogicalPlan command = writer.saveCommand(Option.apply(folder));
    var analyzed =
        (InsertIntoHadoopFsRelationCommand)
            rows.sparkSession()
                .sessionState()
                .executePlan(command, CommandExecutionMode.SKIP())
                .analyzed();
    var noRows =
        new LocalRelation(analyzed.query().output(), Sequences.of(), false, Option.empty());
    return CaseClasses.copy(analyzed, Map.of("query", noRows));
  }

  /** Returns whether rows are those of a batch, in other partitions at most. */
  private static boolean isPlanned(LogicalPlan query) {
    LogicalPlan rows = query instanceof RepartitionOperation moved ? moved.child() : query;
    return rows instanceof LogicalRDD;
  }

  private static SparkPlan physical(SparkSession session, LogicalPlan query) {
    return session.sessionState().planner().plan(query).next();
  }

  private InsertIntoHadoopFsRelationCommand command(LogicalPlan query, String folder) {
    return CaseClasses.copy(
        planned,
        Map.of(
            "outputPath",
            new Path(folder),
            "query",
            query,
            "partitionColumns",
            Sequences.of(partitionColumns(asJava(query.output())))));
  }

  /** Returns the partition columns among the columns of a batch, which are new in each batch. */
  private List<Attribute> partitionColumns(List<Attribute> columns) {
    var names = asJava(planned.query().output());
    return asJava(planned.partitionColumns()).stream()
        .map(column -> columns.get(indexOf(names, column)))
        .toList();
  }

  private static int indexOf(List<Attribute> columns, Attribute column) {
    for (int i = 0; i < columns.size(); i++) {
      if (columns.get(i).exprId().equals(column.exprId())) return i;
    }
    throw new IllegalStateException("the rows have no column " + column.name());
  }

  /** Lets Spark plan and execute a command, and returns the metrics of its node. */
  private static scala.collection.immutable.Map<String, SQLMetric> execute(
      SparkSession session, LogicalPlan command) {
    var result =
        (CommandResult) Dataset.ofRows(session, command).queryExecution().commandExecuted();
    return innermost(result.commandPhysicalPlan()).metrics();
  }

  /**
   * Returns the node that writes. Adaptive execution wraps it, several times when there is an
   * exchange below it.
   */
  private static SparkPlan innermost(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec adaptive) return innermost(adaptive.executedPlan());
    if (plan instanceof QueryStageExec stage) return innermost(stage.plan());
    return plan;
  }

  private static String counts(scala.collection.immutable.Map<String, SQLMetric> metrics)
      throws JsonProcessingException {
    var counts = Json.MAPPER.createObjectNode();
    counts.put("rows", value(metrics, "numOutputRows"));
    counts.put("bytes", value(metrics, "numOutputBytes"));
    return Json.MAPPER.writeValueAsString(counts);
  }

  private static long value(
      scala.collection.immutable.Map<String, SQLMetric> metrics, String name) {
    // SQLMetric declares `value` with two return types, and javac accepts neither.
    AccumulatorV2<?, ?> metric = metrics.apply(name);
    return (Long) metric.value();
  }
}
