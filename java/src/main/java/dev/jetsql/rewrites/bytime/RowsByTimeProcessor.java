package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Returns the rows that the watermark has passed with the values of window functions. */
final class RowsByTimeProcessor extends SortedRowsProcessor {
  private static final long serialVersionUID = 1;

  private final FrameEvaluation evaluation;
  private final FrameHistory history;
  private final RunningValues running;
  private transient ListState<Row> passed;
  private transient ValueState<Row> buffers;

  RowsByTimeProcessor(
      StructType input,
      StructType output,
      FrameEvaluation evaluation,
      FrameHistory history,
      RunningValues running) {
    super(
        expressions(evaluation, running),
        List.of(input, running.bufferType()),
        input,
        output,
        evaluation.timeColumn());
    this.evaluation = evaluation;
    this.history = history;
    this.running = running;
  }

  private static List<Expression> expressions(FrameEvaluation evaluation, RunningValues running) {
    var expressions = new ArrayList<Expression>(Plans.list(evaluation.columns()));
    expressions.addAll(Plans.list(evaluation.partitionBy()));
    expressions.addAll(Plans.list(evaluation.orderBy()));
    expressions.addAll(running.expressions());
    return expressions;
  }

  @Override
  public String state() {
    return history.describe(!running.isEmpty());
  }

  @Override
  public String keptForEver() {
    var keys = evaluation.partitionBy();
    if (keys.isEmpty()) return history.all() ? "all rows" : null;
    var kept = history.kept(!running.isEmpty());
    return kept == null ? null : "%s (%s)".formatted(kept, Plans.texts(keys));
  }

  @Override
  protected void openState() {
    passed = rowsOf("passed");
    if (!running.isEmpty())
      buffers =
          getHandle()
              .getValueState("running", StateTypes.encoder(running.bufferType()), TTLConfig.NONE());
  }

  @Override
  protected Comparator<InternalRow> order() {
    return evaluation.order();
  }

  /** Returns the rows with the functions' values. */
  @Override
  protected List<Row> evaluate(List<InternalRow> due, long watermark) {
    var framed = evaluation.functions().isEmpty() ? due : withFrames(due, watermark);
    var values = running.isEmpty() ? null : runningValues(due);
    var results = new ArrayList<Row>();
    for (int i = 0; i < framed.size(); i++) {
      var row = framed.get(i);
      if (values != null) row = new JoinedRow(row, new GenericInternalRow(values.get(i)));
      results.add(external(row));
    }
    return results;
  }

  private List<Object[]> runningValues(List<InternalRow> due) {
    var converter = new RowConverter(running.bufferType());
    var buffer = running.buffers(buffers.exists() ? converter.internal(buffers.get()) : null);
    var values = running.evaluate(buffer, due);
    buffers.update(converter.external(buffer));
    return values;
  }

  /** Returns the rows with the values of frames, and keeps the rows that later frames contain. */
  private List<InternalRow> withFrames(List<InternalRow> due, long watermark) {
    var sorted = readWith(passed, due);
    int before = sorted.size() - due.size();
    var rows = evaluation.evaluate(CollectionConverters.asScala(sorted.iterator()));
    var results = new ArrayList<InternalRow>();
    for (int i = 0; rows.hasNext(); i++) {
      var row = rows.next();
      if (i >= before) results.add(row.copy());
    }
    keep(passed, history.kept(sorted, this::timeOf, watermark));
    return results;
  }
}
