package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.plans.CurrentTimes;
import dev.jetsql.plans.Plans;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;

/** The part of a body that runs as a batch query over the rows of each batch of its stream. */
public final class BatchPart {
  private final LogicalPlan body;
  private final LogicalPlan stream;
  private final List<Place> places;
  private final String meaning;

  /**
   * A node of the body that has rows of the stream.
   *
   * @param rows returns the node's rows with its columns, from the rows of the stream
   */
  record Place(LogicalPlan node, UnaryOperator<LogicalPlan> rows) {}

  /**
   * @param body the whole body
   * @param stream the plan that runs as a stream
   * @param places the nodes of the body that have its rows
   * @param meaning what runs in the batch, in words
   */
  BatchPart(LogicalPlan body, LogicalPlan stream, List<Place> places, String meaning) {
    this.body = body;
    this.stream = stream;
    this.places = places;
    this.meaning = meaning;
  }

  /**
   * @param stream the node of the body that runs as a stream
   */
  BatchPart(LogicalPlan body, LogicalPlan stream, String meaning) {
    this(body, stream, List.of(new Place(stream, rows -> rows)), meaning);
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
   * Returns whether the rows of a batch are read more than once. They must be stored before: two
   * reads of the rows would run the stateful operators of the stream at the same time.
   */
  public boolean isReadOften() {
    return places.size() > 1;
  }

  /**
   * Returns the body's result for a batch, with the time of the batch as the current time, which
   * Spark also uses in the part that it streams.
   *
   * @param rows the batch's rows of the stream
   * @param millis the time of the batch, since the epoch
   */
  public Dataset<Row> applyAt(Dataset<Row> rows, long millis) {
    return new BatchPart(CurrentTimes.at(millis, body), stream, meaning).apply(rows);
  }

  /** Returns the body's result for a batch. rows: the batch's rows of the stream */
  public Dataset<Row> apply(Dataset<Row> rows) {
    var given = rows.queryExecution().analyzed();
    var plan =
        body.transformDown(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                node -> place(node) != null,
                node -> place(node).rows().apply(Plans.withColumns(given, stream.output()))));
    return Dataset.ofRows(rows.sparkSession(), plan);
  }

  private Place place(LogicalPlan node) {
    return places.stream().filter(each -> each.node() == node).findFirst().orElse(null);
  }
}
