package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.Row;

/**
 * The part of a body that runs as a batch query over the rows of each batch of its stream.
 *
 * @param body the whole body
 * @param streamed the nodes of the body that return the rows of the stream; all have the same result
 * @param meaning what runs in the batch, in words
 */
public record BatchPart(LogicalPlan body, List<LogicalPlan> streamed, String meaning) {
  /** Returns the part of the body that runs as a stream. */
  LogicalPlan stream() {
    return streamed.get(0);
  }

  /** Returns the body's result for a batch. rows: the batch's rows of the stream */
  public Dataset<Row> apply(Dataset<Row> rows) {
    var given = rows.queryExecution().analyzed();
    var plan =
        body.transformDown(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                node -> streamed.stream().anyMatch(each -> each == node),
                node -> withColumnsOf(node, given)));
    return Dataset.ofRows(rows.sparkSession(), plan);
  }

  private static LogicalPlan withColumnsOf(LogicalPlan node, LogicalPlan rows) {
    var columns = new ArrayList<NamedExpression>();
    for (int i = 0; i < node.output().size(); i++) {
      columns.add(Plans.renamed(rows.output().apply(i), node.output().apply(i)));
    }
    return new Project(Sequences.of(columns), rows);
  }
}
