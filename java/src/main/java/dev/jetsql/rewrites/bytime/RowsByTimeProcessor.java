package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Returns the rows that the watermark has passed with the values of window functions. */
final class RowsByTimeProcessor extends ByTimeProcessor {
  private static final long serialVersionUID = 1;

  private final StructType input;
  private final StructType output;
  private final FrameEvaluation evaluation;
  private final FrameHistory history;
  private final RunningValues running;
  private final int time;
  private transient ListState<Row> waiting;
  private transient ListState<Row> passed;
  private transient ValueState<Row> buffers;
  private transient RowConverter rowsOfInput;
  private transient RowConverter rowsOfOutput;

  RowsByTimeProcessor(
      StructType input,
      StructType output,
      FrameEvaluation evaluation,
      FrameHistory history,
      RunningValues running) {
    super(expressions(evaluation, running), List.of(input, running.bufferType()));
    this.input = input;
    this.output = output;
    this.evaluation = evaluation;
    this.history = history;
    this.running = running;
    this.time = evaluation.timeColumn();
  }

  @Override
  protected List<StreamRows> streamsOf(LogicalPlan input) {
    var rows = ((Project) input).child(); // the rows before their columns were renamed
    return List.of(new StreamRows(null, rows, rows.output().apply(time), null));
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
  public void init(OutputMode outputMode, TimeMode timeMode) {
    var handle = getHandle();
    waiting = handle.getListState("waiting", StateTypes.encoder(input), TTLConfig.NONE());
    passed = handle.getListState("passed", StateTypes.encoder(input), TTLConfig.NONE());
    if (!running.isEmpty())
      buffers =
          handle.getValueState(
              "running", StateTypes.encoder(running.bufferType()), TTLConfig.NONE());
    openTimer();
    rowsOfInput = new RowConverter(input);
    rowsOfOutput = new RowConverter(output);
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    long earliest = NEVER;
    while (rows.hasNext()) {
      var row = rows.next();
      if (row.isNullAt(time)) continue;
      waiting.appendValue(row);
      earliest = Math.min(earliest, internal(row).getLong(time));
    }
    wakeAt(earliest);
    return CollectionConverters.asScala(Collections.<Row>emptyIterator());
  }

  @Override
  public Iterator<Row> handleExpiredTimer(Row key, TimerValues now, ExpiredTimerInfo expired) {
    long watermark = expire(now);
    var due = new ArrayList<InternalRow>();
    var later = new ArrayList<Row>();
    long next = NEVER;
    for (var row : read(waiting)) {
      var each = internal(row);
      if (each.getLong(time) <= watermark) {
        due.add(each);
      } else {
        later.add(row);
        next = Math.min(next, each.getLong(time));
      }
    }
    wakeAt(next);
    write(waiting, later);
    due.sort(evaluation.order());
    return CollectionConverters.asScala(evaluate(due, watermark).iterator());
  }

  /** Returns the rows with the functions' values. due: sorted rows, the next ones of the key */
  private List<Row> evaluate(List<InternalRow> due, long watermark) {
    var framed = evaluation.functions().isEmpty() ? due : withFrames(due, watermark);
    var values = running.isEmpty() ? null : runningValues(due);
    var results = new ArrayList<Row>();
    for (int i = 0; i < framed.size(); i++) {
      var row = framed.get(i);
      if (values != null) row = new JoinedRow(row, new GenericInternalRow(values.get(i)));
      results.add(rowsOfOutput.external(row));
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
    var sorted = new ArrayList<InternalRow>();
    for (var row : read(passed)) sorted.add(internal(row));
    int before = sorted.size();
    sorted.addAll(due);
    var rows = evaluation.evaluate(CollectionConverters.asScala(sorted.iterator()));
    var results = new ArrayList<InternalRow>();
    for (int i = 0; rows.hasNext(); i++) {
      var row = rows.next();
      if (i >= before) results.add(row.copy());
    }
    var kept = sorted.subList(firstKept(sorted, watermark), sorted.size());
    write(passed, kept.stream().map(rowsOfInput::external).toList());
    return results;
  }

  private int firstKept(List<InternalRow> sorted, long watermark) {
    if (history.all()) return 0;
    int first = Math.max(0, sorted.size() - history.rows());
    while (first > 0 && sorted.get(first - 1).getLong(time) >= watermark - history.micros())
      first--;
    return first;
  }

  private InternalRow internal(Row row) {
    return rowsOfInput.unsafe(row).copy();
  }
}
