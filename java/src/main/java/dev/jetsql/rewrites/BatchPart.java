package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import scala.collection.immutable.Seq;

/** The part of a body that runs as a batch query over the rows of each batch of its stream. */
public final class BatchPart {
  private final LogicalPlan body;
  private final LogicalPlan stream;
  private final Map<LogicalPlan, UnaryOperator<LogicalPlan>> replacements;
  private final String meaning;

  /**
   * @param body the whole body
   * @param stream what runs as a stream
   * @param replacements for nodes of the body, by identity: their rows, made from the stream's rows
   * @param meaning what runs in the batch, in words
   */
  BatchPart(
      LogicalPlan body,
      LogicalPlan stream,
      Map<LogicalPlan, UnaryOperator<LogicalPlan>> replacements,
      String meaning) {
    this.body = body;
    this.stream = stream;
    this.replacements = new IdentityHashMap<>(replacements);
    this.meaning = meaning;
  }

  /** Returns the part of a body in which the rows of one node are those of the stream. */
  static BatchPart above(LogicalPlan node, LogicalPlan body, String meaning) {
    return new BatchPart(
        body, node, Map.of(node, UnaryOperator.identity()), meaning);
  }

  LogicalPlan stream() {
    return stream;
  }

  public String meaning() {
    return meaning;
  }

  /** Returns whether the body reads the rows of a batch more than once. */
  public boolean readsRowsAgain() {
    return replacements.size() > 1;
  }

  /** Returns the body's result for a batch. rows: the batch's rows of the stream */
  public Dataset<Row> apply(Dataset<Row> rows) {
    var given = rows.queryExecution().analyzed();
    var streamed = renameColumns(given, stream.output());
    var plan =
        body.transformDown(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                replacements::containsKey, node -> replacements.get(node).apply(streamed)));
    return Dataset.ofRows(rows.sparkSession(), plan);
  }

  /** Returns rows whose columns have other names and ids. */
  private static LogicalPlan renameColumns(LogicalPlan rows, Seq<Attribute> names) {
    var columns = new ArrayList<NamedExpression>();
    for (int i = 0; i < names.size(); i++) {
      columns.add(Plans.renamed(rows.output().apply(i), names.apply(i)));
    }
    return new Project(Sequences.of(columns), rows);
  }
}
