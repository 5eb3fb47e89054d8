package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Evaluates the rows of a key in their order, when the watermark has passed them. */
public abstract class SortedRowsProcessor extends ByTimeProcessor {
  private static final long serialVersionUID = 1;

  private final StructType input;
  private final StructType output;
  private final int time;
  private transient ListState<Row> waiting;
  private transient RowConverter rowsOfInput;
  private transient RowConverter rowsOfOutput;

  /**
   * Creates a processor.
   *
   * @param stateExpressions what the state depends on
   * @param kept the types of the rows in the state
   * @param input the type of the rows it gets
   * @param output the type of the rows it returns
   * @param time the index of the column with their time
   */
  protected SortedRowsProcessor(
      List<? extends Expression> stateExpressions,
      List<StructType> kept,
      StructType input,
      StructType output,
      int time) {
    super(stateExpressions, kept);
    this.input = input;
    this.output = output;
    this.time = time;
  }

  /** Opens further state. */
  protected abstract void openState();

  /** Returns the order of the rows of a key, by their time first. */
  protected abstract Comparator<InternalRow> order();

  /** Returns the results of the next rows of the key, which are sorted. */
  protected abstract List<Row> evaluate(List<InternalRow> due, long watermark);

  @Override
  protected final List<StreamRows> streamsOf(LogicalPlan input) {
    var rows = ((Project) input).child(); // the rows before their columns were renamed
    return List.of(new StreamRows(null, rows, rows.output().apply(time), null));
  }

  @Override
  public final void init(OutputMode outputMode, TimeMode timeMode) {
    waiting = rowsOf("waiting");
    openState();
    openTimer();
    rowsOfInput = new RowConverter(input);
    rowsOfOutput = new RowConverter(output);
  }

  @Override
  public final Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    long earliest = NEVER;
    while (rows.hasNext()) {
      var row = rows.next();
      if (row.isNullAt(time)) continue;
      waiting.appendValue(row);
      earliest = Math.min(earliest, timeOf(internal(row)));
    }
    wakeAt(earliest);
    return CollectionConverters.asScala(Collections.<Row>emptyIterator());
  }

  @Override
  public final Iterator<Row> handleExpiredTimer(
      Row key, TimerValues now, ExpiredTimerInfo expired) {
    long watermark = expire(now);
    var due = new ArrayList<InternalRow>();
    var later = new ArrayList<Row>();
    long next = NEVER;
    for (var row : read(waiting)) {
      var each = internal(row);
      if (timeOf(each) <= watermark) {
        due.add(each);
      } else {
        later.add(row);
        next = Math.min(next, timeOf(each));
      }
    }
    wakeAt(next);
    write(waiting, later);
    due.sort(order());
    return CollectionConverters.asScala(evaluate(due, watermark).iterator());
  }

  /** Returns a state with rows of the input. */
  protected final ListState<Row> rowsOf(String name) {
    return getHandle().getListState(name, StateTypes.encoder(input), TTLConfig.NONE());
  }

  /** Returns the rows in a state, followed by others. */
  protected final List<InternalRow> readWith(ListState<Row> state, List<InternalRow> others) {
    var rows = new ArrayList<InternalRow>();
    for (var row : read(state)) rows.add(internal(row));
    rows.addAll(others);
    return rows;
  }

  /** Replaces the rows in a state. */
  protected final void keep(ListState<Row> state, List<InternalRow> rows) {
    write(state, rows.stream().map(rowsOfInput::external).toList());
  }

  /** Returns a result as Spark needs it. */
  protected final Row external(InternalRow result) {
    return rowsOfOutput.external(result);
  }

  /** Returns the time of a row of the input, in microseconds. */
  protected final long timeOf(InternalRow row) {
    return row.getLong(time);
  }

  private InternalRow internal(Row row) {
    return rowsOfInput.unsafe(row).copy();
  }
}
