package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.patterns.Search;
import dev.jetsql.plans.StateTypes;
import dev.jetsql.rewrites.bytime.SortedRowsProcessor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Finds the matches in the rows that the watermark has passed. The state of a key is its rows that
 * wait, the rows from the first one at which a match may begin, and that row's index.
 */
final class MatchProcessor extends SortedRowsProcessor {
  private static final long serialVersionUID = 1;
  private static final StructType PROGRESS =
      new StructType().add("start", DataTypes.IntegerType).add("matches", DataTypes.LongType);

  private final MatchPlan match;
  private transient ListState<Row> open;
  private transient ValueState<Row> progress;
  private transient InterpretedOrdering order;
  private transient PartitionMatcher matcher;

  /**
   * Creates a processor.
   *
   * @param output the type of its rows
   * @param expressions what the state depends on
   */
  MatchProcessor(MatchPlan match, StructType output, List<Expression> expressions) {
    super(expressions, List.of(match.rowType()), match.rowType(), output, match.timeColumn());
    this.match = match;
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
  protected void openState() {
    open = rowsOf("open");
    progress =
        getHandle().getValueState("progress", StateTypes.encoder(PROGRESS), TTLConfig.NONE());
    order = new InterpretedOrdering(match.order(match.inputs()), Sequences.of(match.inputs()));
    matcher = new PartitionMatcher(match);
  }

  @Override
  protected Comparator<InternalRow> order() {
    return order;
  }

  /** Returns the decided matches, and keeps the rows of what is open. */
  @Override
  protected List<Row> evaluate(List<InternalRow> due, long watermark) {
    var rows = readWith(open, due);
    var before = progress.exists() ? progress.get() : RowFactory.create(0, 0L);
    matcher.open(new PassedRows(watermark), rows, before.getInt(0), before.getLong(1));
    var results = new ArrayList<Row>();
    try {
      for (var found = matcher.next(); found != null; found = matcher.next())
        for (var row : found) results.add(external(row));
    } catch (Search.Undecided e) {
      // Later rows, or a later watermark, decide.
    }
    matcher.forgetAll();
    keep(open, matcher.rows());
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
}
