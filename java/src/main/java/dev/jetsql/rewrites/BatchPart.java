package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp;
import org.apache.spark.sql.catalyst.expressions.CurrentDate;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampLike;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import scala.Option;

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

  public LogicalPlan body() {
    return body;
  }

  LogicalPlan stream() {
    return stream;
  }

  public String meaning() {
    return meaning;
  }

  /**
   * Returns the body's result for a batch, with the time of the batch as the current time, which
   * Spark also uses in the part that it streams.
   *
   * @param rows the batch's rows of the stream
   * @param millis the time of the batch, since the epoch
   */
  public Dataset<Row> applyAt(Dataset<Row> rows, long millis) {
    return new BatchPart(withTime(body, millis), stream, meaning).apply(rows);
  }

  private static LogicalPlan withTime(LogicalPlan plan, long millis) {
    return plan.transformAllExpressionsWithSubqueries(
        PartialFunctions.<Expression, Expression>of(
            node ->
                node instanceof CurrentTimestampLike
                    || node instanceof CurrentDate
                    || node instanceof LocalTimestamp,
            node -> {
              var zone =
                  node instanceof TimeZoneAwareExpression aware
                      ? aware.timeZoneId()
                      : Option.<String>empty();
              return new CurrentBatchTimestamp(millis, node.dataType(), zone).toLiteral();
            }));
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
