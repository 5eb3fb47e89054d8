package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.Plans;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Returns the rows of the first stream that the watermark has passed, each with the newest row of
 * the second stream up to its time. Of rows with equal times, the one that arrived last is newer.
 */
final class JoinByTimeProcessor extends ByTimeProcessor {
  private static final long serialVersionUID = 1;

  private final JoinRows rows;
  private transient ListState<Row> waiting;
  private transient ListState<Row> versions;

  /**
   * Creates a processor.
   *
   * @param rows the rows of its input
   * @param expressions what the state depends on
   */
  JoinByTimeProcessor(JoinRows rows, List<Expression> expressions) {
    super(expressions, List.of(rows.first(), rows.second()));
    this.rows = rows;
  }

  @Override
  protected List<StreamRows> streamsOf(LogicalPlan input) {
    var streams = Plans.list(input.children());
    return List.of(
        stream((Project) streams.get(0), rows.firstName(), rows.firstColumn()),
        stream((Project) streams.get(1), rows.secondName(), rows.secondColumn()));
  }

  private StreamRows stream(Project side, String name, int rowColumn) {
    var columns = side.projectList();
    var time = (Attribute) ((Alias) columns.apply(rows.keyCount())).child();
    var row = ((Alias) columns.apply(rowColumn)).child();
    return new StreamRows(name, side.child(), time, new IsNotNull(row));
  }

  @Override
  public String state() {
    return JoinsByTime.STATE;
  }

  @Override
  public String keptForEver() {
    return rows.keys().isEmpty() ? null : "the newest row of each " + rows.keys();
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    waiting = rowsOf("waiting", rows.first());
    versions = rowsOf("versions", rows.second());
    openTimer();
  }

  private ListState<Row> rowsOf(String name, StructType type) {
    var timed = new StructType().add("at", DataTypes.LongType).add("row", type);
    return getHandle().getListState(name, StateTypes.encoder(timed), TTLConfig.NONE());
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> input, TimerValues now) {
    var results = new ArrayList<Row>();
    long earliest = NEVER;
    while (input.hasNext()) {
      var row = input.next();
      var isFirst = !row.isNullAt(rows.firstColumn());
      if (!isFirst && row.isNullAt(rows.secondColumn())) continue;
      if (row.isNullAt(rows.timeColumn())) {
        if (isFirst && rows.isOuter()) results.add(joined(row.getStruct(rows.firstColumn()), null));
        continue;
      }
      long at = row.getLong(rows.timeColumn());
      var value = row.getStruct(isFirst ? rows.firstColumn() : rows.secondColumn());
      (isFirst ? waiting : versions).appendValue(RowFactory.create(at, value));
      earliest = Math.min(earliest, at);
    }
    wakeAt(earliest);
    return CollectionConverters.asScala(results.iterator());
  }

  @Override
  public Iterator<Row> handleExpiredTimer(Row key, TimerValues now, ExpiredTimerInfo expired) {
    long watermark = expire(now);
    var sorted = read(versions);
    sorted.sort(Comparator.comparingLong(JoinByTimeProcessor::time)); // keeps the order of arrival
    var results = new ArrayList<Row>();
    var later = new ArrayList<Row>();
    for (var row : read(waiting)) {
      if (time(row) > watermark) {
        later.add(row);
        continue;
      }
      int candidates = countUpTo(sorted, rows.isStrict() ? time(row) - 1 : time(row));
      if (candidates > 0) results.add(joined(value(row), value(sorted.get(candidates - 1))));
      else if (rows.isOuter()) results.add(joined(value(row), null));
    }
    int passed = countUpTo(sorted, watermark);
    write(waiting, later);
    write(versions, sorted.subList(Math.max(0, passed - 1), sorted.size()));
    long next = passed < sorted.size() ? time(sorted.get(passed)) : NEVER;
    for (var row : later) next = Math.min(next, time(row));
    wakeAt(next);
    return CollectionConverters.asScala(results.iterator());
  }

  private static long time(Row timed) {
    return timed.getLong(0);
  }

  private static Row value(Row timed) {
    return timed.getStruct(1);
  }

  /** Returns how many of the sorted rows have no later time. */
  private static int countUpTo(List<Row> sorted, long time) {
    int low = 0;
    int high = sorted.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (time(sorted.get(middle)) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private Row joined(Row first, Row second) {
    var values = new Object[rows.first().size() + rows.second().size()];
    for (int i = 0; i < first.size(); i++) values[i] = first.get(i);
    if (second != null)
      for (int i = 0; i < second.size(); i++) values[first.size() + i] = second.get(i);
    return RowFactory.create(values);
  }
}
