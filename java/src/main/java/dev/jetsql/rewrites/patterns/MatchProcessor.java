package dev.jetsql.rewrites.patterns;

import dev.jetsql.patterns.Search;
import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.StateTypes;
import dev.jetsql.rewrites.bytime.ByTimeProcessor;
import dev.jetsql.rewrites.bytime.StreamRows;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Finds the matches in the rows that the watermark has passed. The state of a key is its rows that
 * wait, the rows from the first one at which a match may begin, and that row's index.
 */
final class MatchProcessor extends ByTimeProcessor {
  private static final long serialVersionUID = 1;
  private static final StructType PROGRESS =
      new StructType().add("start", DataTypes.IntegerType).add("matches", DataTypes.LongType);

  private final MatchPlan match;
  private final StructType output;
  private final int time;
  private transient ListState<Row> waiting;
  private transient ListState<Row> open;
  private transient ValueState<Row> progress;
  private transient RowConverter rowsOfInput;
  private transient RowConverter rowsOfOutput;
  private transient InterpretedOrdering order;
  private transient PartitionMatcher matcher;

  /**
   * Creates a processor.
   *
   * @param output the type of its rows
   * @param expressions what the state depends on
   */
  MatchProcessor(MatchPlan match, StructType output, List<Expression> expressions) {
    super(expressions, List.of(match.rowType()));
    this.match = match;
    this.output = output;
    this.time = match.timeColumn();
  }

  @Override
  protected List<StreamRows> streamsOf(LogicalPlan input) {
    var rows = ((Project) input).child(); // the rows before their columns were renamed
    return List.of(new StreamRows(null, rows, rows.output().apply(time), null));
  }

  @Override
  public String state() {
    return match.state();
  }

  @Override
  public String keptForEver() {
    return match.keptForEver();
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    var rows = StateTypes.encoder(match.rowType());
    waiting = getHandle().getListState("waiting", rows, TTLConfig.NONE());
    open = getHandle().getListState("open", rows, TTLConfig.NONE());
    progress =
        getHandle().getValueState("progress", StateTypes.encoder(PROGRESS), TTLConfig.NONE());
    rowsOfInput = new RowConverter(match.rowType());
    rowsOfOutput = new RowConverter(output);
    order =
        new InterpretedOrdering(
            match.order(match.inputs()), dev.jetsql.common.Sequences.of(match.inputs()));
    matcher = new PartitionMatcher(match);
    openTimer();
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
    due.sort(order);
    return CollectionConverters.asScala(matches(due, watermark).iterator());
  }

  /** Returns the decided matches, and keeps the rows of what is open. due: the next rows */
  private List<Row> matches(List<InternalRow> due, long watermark) {
    var rows = new ArrayList<InternalRow>();
    for (var row : read(open)) rows.add(internal(row));
    rows.addAll(due);
    var before = progress.exists() ? progress.get() : RowFactory.create(0, 0L);
    matcher.open(new PassedRows(watermark), rows, before.getInt(0), before.getLong(1));
    var results = new ArrayList<Row>();
    try {
      for (var found = matcher.next(); found != null; found = matcher.next())
        for (var row : found) results.add(rowsOfOutput.external(row));
    } catch (Search.Undecided e) {
      // Later rows, or a later watermark, decide.
    }
    matcher.forgetAll();
    write(open, matcher.rows().stream().map(rowsOfInput::external).toList());
    var isOpen = matcher.start() < matcher.rows().size();
    var isCounted = match.countsMatches() && matcher.matches() > 0;
    if (matcher.start() > 0 || isCounted)
      progress.update(RowFactory.create(matcher.start(), matcher.matches()));
    else progress.clear();
    if (isOpen && match.withinMicros() > 0) wakeAt(matcher.deadline());
    return results;
  }

  /** The end of the rows that the watermark has passed. */
  private record PassedRows(long watermark) implements PartitionMatcher.RowSource {
    @Override
    public boolean read(List<InternalRow> rows) {
      throw new Search.Undecided();
    }

    @Override
    public boolean hasPassed(long micros) {
      return watermark >= micros;
    }
  }

  private InternalRow internal(Row row) {
    return rowsOfInput.unsafe(row).copy();
  }
}
