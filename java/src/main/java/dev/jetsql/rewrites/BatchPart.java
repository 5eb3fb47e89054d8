package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;

/** The part of a body that runs as a batch query over the rows of each batch of its stream. */
public final class BatchPart {
  private final LogicalPlan body;
  private final LogicalPlan stream;
  private final String meaning;

  /**
   * @param body the whole body
   * @param stream the node of the body that runs as a stream
   * @param meaning what runs in the batch, in words
   */
  BatchPart(LogicalPlan body, LogicalPlan stream, String meaning) {
    this.body = body;
    this.stream = stream;
    this.meaning = meaning;
  }

  LogicalPlan stream() {
    return stream;
  }

  public String meaning() {
    return meaning;
  }

  /** Returns the body's result for a batch. rows: the batch's rows of the stream */
  public Dataset<Row> apply(Dataset<Row> rows) {
    var given = rows.queryExecution().analyzed();
    var streamed = Plans.withColumns(given, stream.output());
    var plan =
        body.transformDown(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                node -> node == stream, node -> streamed));
    return Dataset.ofRows(rows.sparkSession(), plan);
  }
}
