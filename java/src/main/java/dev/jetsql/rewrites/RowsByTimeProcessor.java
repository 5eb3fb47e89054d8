package dev.jetsql.rewrites;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps the rows of a key until the watermark has passed them, and returns them in their order with
 * the values of window functions. A key has one timer, at the earliest time of the waiting rows.
 */
final class RowsByTimeProcessor extends StatefulProcessor<Row, Row, Row> {
  private static final long serialVersionUID = 1;
  private static final long MICROS = 1000;

  private final StructType input;
  private final StructType output;
  private final FrameEvaluation evaluation;
  private final FrameHistory history;
  private final int time;
  private transient ListState<Row> waiting;
  private transient ListState<Row> passed;
  private transient ValueState<Long> timer;
  private transient Function1<Object, Object> toInternal;
  private transient Function1<Object, Object> toExternal;
  private transient UnsafeProjection toUnsafe;

  RowsByTimeProcessor(
      StructType input, StructType output, FrameEvaluation evaluation, FrameHistory history) {
    this.input = input;
    this.output = output;
    this.evaluation = evaluation;
    this.history = history;
    this.time = evaluation.timeColumn();
  }

  FrameEvaluation evaluation() {
    return evaluation;
  }

  FrameHistory history() {
    return history;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    var handle = getHandle();
    waiting = handle.getListState("waiting", Encoders.row(input), TTLConfig.NONE());
    passed = handle.getListState("passed", Encoders.row(input), TTLConfig.NONE());
    timer = handle.getValueState("timer", Encoders.LONG(), TTLConfig.NONE());
    toInternal = CatalystTypeConverters.createToCatalystConverter(input);
    toExternal = CatalystTypeConverters.createToScalaConverter(output);
    toUnsafe = UnsafeProjection.create(input);
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    long earliest = Long.MAX_VALUE;
    while (rows.hasNext()) {
      var row = rows.next();
      if (row.isNullAt(time)) continue;
      waiting.appendValue(row);
      earliest = Math.min(earliest, timerFor(internal(row)));
    }
    if (earliest < Long.MAX_VALUE && (!timer.exists() || earliest < timer.get())) {
      if (timer.exists()) getHandle().deleteTimer(timer.get());
      setTimer(earliest);
    }
    return CollectionConverters.asScala(Collections.<Row>emptyIterator());
  }

  @Override
  public Iterator<Row> handleExpiredTimer(Row key, TimerValues now, ExpiredTimerInfo expired) {
    long watermark = now.getCurrentWatermarkInMs() * MICROS;
    var due = new ArrayList<InternalRow>();
    var later = new ArrayList<Row>();
    long next = Long.MAX_VALUE;
    for (var row : read(waiting)) {
      var each = internal(row);
      if (each.getLong(time) <= watermark) {
        due.add(each);
      } else {
        later.add(row);
        next = Math.min(next, timerFor(each));
      }
    }
    timer.clear();
    if (next < Long.MAX_VALUE) setTimer(next);
    write(waiting, later);
    due.sort(evaluation.order());
    return CollectionConverters.asScala(evaluate(due, watermark).iterator());
  }

  /** Returns the rows with the functions' values, and keeps those that later frames contain. */
  private List<Row> evaluate(List<InternalRow> due, long watermark) {
    var sorted = new ArrayList<InternalRow>();
    for (var row : read(passed)) sorted.add(internal(row));
    int before = sorted.size();
    sorted.addAll(due);
    var rows = evaluation.evaluate(CollectionConverters.asScala(sorted.iterator()));
    var results = new ArrayList<Row>();
    for (int i = 0; rows.hasNext(); i++) {
      var row = rows.next();
      if (i >= before) results.add((Row) toExternal.apply(row));
    }
    var kept = sorted.subList(firstKept(sorted, watermark), sorted.size());
    var toRow = CatalystTypeConverters.createToScalaConverter(input);
    write(passed, kept.stream().map(row -> (Row) toRow.apply(row)).toList());
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
    return toUnsafe.apply((InternalRow) toInternal.apply(row)).copy();
  }

  /** Returns the first watermark, in milliseconds, that has passed a row. */
  private long timerFor(InternalRow row) {
    return -Math.floorDiv(-row.getLong(time), MICROS);
  }

  private void setTimer(long at) {
    getHandle().registerTimer(at);
    timer.update(at);
  }

  private static List<Row> read(ListState<Row> state) {
    var rows = new ArrayList<Row>();
    var all = state.get();
    while (all.hasNext()) rows.add(all.next());
    return rows;
  }

  private static void write(ListState<Row> state, List<Row> rows) {
    if (rows.isEmpty()) state.clear();
    else state.put(rows.toArray(Row[]::new));
  }
}
