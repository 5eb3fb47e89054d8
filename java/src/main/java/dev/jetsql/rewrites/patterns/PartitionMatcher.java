package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.patterns.Path;
import dev.jetsql.patterns.Search;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** Finds the matches among the rows of one key after the other. */
final class PartitionMatcher implements Search.Rows {
  /** The largest number of steps of a search, a few seconds. */
  static final long STEPS = 10_000_000;

  private final MatchPlan plan;
  private final Search search;
  private final List<DataType> types;
  private final UTF8String[] names;
  private final List<List<Integer>> used = new ArrayList<>();
  private final List<List<Integer>> usedByMeasures = new ArrayList<>();
  private final List<MatchAggregate> aggregates = new ArrayList<>();
  private final int time;

  private RowSource source;
  private List<InternalRow> rows = new ArrayList<>();
  private int start;
  private long matches;

  /** Gives the rows of a key. */
  interface RowSource {
    /**
     * Adds the next row to the rows. Returns whether there is one; throws Undecided if it may
     * arrive later.
     */
    boolean read(List<InternalRow> rows);

    /** Returns whether no row up to a time, in microseconds, can follow those that were read. */
    boolean hasPassed(long micros);
  }

  PartitionMatcher(MatchPlan plan) {
    this.plan = plan;
    this.search = plan.search(STEPS);
    this.types = plan.inputs().stream().map(column -> column.dataType()).toList();
    this.names = plan.variables().stream().map(UTF8String::fromString).toArray(UTF8String[]::new);
    for (var condition : plan.conditions())
      used.add(condition == null ? List.of() : MatchValues.used(condition));
    for (var measure : plan.measures()) usedByMeasures.add(MatchValues.used(measure));
    for (var value : plan.values())
      aggregates.add(
          value.kind() == MatchValue.Kind.AGGREGATE
              ? new MatchAggregate(value.expression(), plan.columns())
              : null);
    this.time = plan.timeColumn();
  }

  /**
   * Begins with the rows of a key.
   *
   * @param source gives further rows
   * @param rows the rows that are kept of it
   * @param start the index of the row at which the next match may begin
   * @param matches the number of matches so far
   */
  void open(RowSource source, List<InternalRow> rows, int start, long matches) {
    this.source = source;
    this.rows = rows;
    this.start = start;
    this.matches = matches;
  }

  /** Returns the rows that later matches read. */
  List<InternalRow> rows() {
    return rows;
  }

  /** Returns the index of the row at which the next match may begin. */
  int start() {
    return start;
  }

  long matches() {
    return matches;
  }

  /** Returns the time in microseconds at which the open match is decided. */
  long deadline() {
    return timeOf(start) + plan.withinMicros();
  }

  /**
   * Returns the rows of the next match, or null if there is none. Throws Undecided if the rows do
   * not decide on it.
   */
  List<InternalRow> next() {
    for (; isRow(start); start++, forget()) {
      var path = find();
      if (path == null) continue;
      var results = plan.allRows() ? allRows(path) : List.of(result(path, path.end() - 1));
      matches++;
      start = after(path);
      forget();
      return results;
    }
    return null;
  }

  private Path find() {
    for (var aggregate : aggregates) if (aggregate != null) aggregate.clear();
    try {
      return search.find(start, this);
    } catch (Search.TooManySteps e) {
      throw Exceptions.raise(
          JetSqlException.of(
              "PATTERN_TOO_COMPLEX",
              "54001",
              "The search for a match of PATTERN (%s) from one row took more than %d steps. Write a"
                      .formatted(plan.text(), STEPS)
                  + " simpler pattern or add WITHIN, so that fewer rows can be combined."));
    }
  }

  /** Returns where the next match may begin. */
  private int after(Path path) {
    return switch (plan.skip()) {
      case PAST_LAST_ROW -> path.end();
      case TO_NEXT_ROW -> path.start() + 1;
      case TO_FIRST -> path.row(plan.skipTo(), true, 0, path.end() - 1);
      case TO_LAST -> path.row(plan.skipTo(), false, 0, path.end() - 1);
    };
  }

  /** Removes rows that no later match reads. */
  private void forget() {
    int unused = start - plan.rowsBefore();
    // Each removal moves the rest of the list.
    if (unused < 256 || unused < rows.size() / 2) return;
    rows.subList(0, unused).clear();
    start -= unused;
  }

  /** Removes all rows that no later match reads. */
  void forgetAll() {
    int unused = Math.max(0, start - plan.rowsBefore());
    rows.subList(0, unused).clear();
    start -= unused;
  }

  private boolean isRow(int row) {
    while (row >= rows.size()) if (!source.read(rows)) return false;
    return true;
  }

  private long timeOf(int row) {
    return rows.get(row).getLong(time);
  }

  @Override
  public boolean has(int row) {
    if (plan.withinMicros() == 0) return isRow(row);
    if (row >= rows.size() && row > start && source.hasPassed(deadline())) return false;
    return isRow(row) && timeOf(row) <= deadline();
  }

  @Override
  public boolean fits(Path path, int variable) {
    var condition = plan.conditions().get(variable);
    if (condition == null) return true;
    var values = values(path, used.get(variable), path.end() - 1);
    return Boolean.TRUE.equals(condition.eval(values));
  }

  private List<InternalRow> allRows(Path path) {
    var results = new ArrayList<InternalRow>();
    for (int row = path.start(); row < path.end(); row++) results.add(result(path, row));
    return results;
  }

  /** Returns the result for a row of a match: what it has up to this row. */
  private InternalRow result(Path path, int row) {
    var result = new ArrayList<Object>();
    for (int column : plan.before()) result.add(rows.get(row).get(column, types.get(column)));
    for (int i = 0; i < plan.measures().size(); i++)
      result.add(
          InternalRow.copyValue(
              plan.measures().get(i).eval(values(path, usedByMeasures.get(i), row))));
    for (int column : plan.after()) result.add(rows.get(row).get(column, types.get(column)));
    return new GenericInternalRow(result.toArray());
  }

  /** Returns a row with some of the values. last: the current row, the last one that they see */
  private InternalRow values(Path path, List<Integer> used, int last) {
    var values = new Object[plan.values().size()];
    for (int i : used) values[i] = value(path, i, last);
    return new GenericInternalRow(values);
  }

  private Object value(Path path, int number, int current) {
    var value = plan.values().get(number);
    int last = value.isFinal() ? path.end() - 1 : current;
    return switch (value.kind()) {
      case NUMBER -> matches + 1;
      case AGGREGATE -> {
        var aggregate = aggregates.get(number);
        int[] read = path.rows(value.variables(), last);
        for (int i = aggregate.keepFirst(read); i < read.length; i++)
          aggregate.add(read[i], row(path, read[i]));
        yield aggregate.value();
      }
      case ROW -> {
        int row = path.row(value.variables(), value.isFirst(), value.offset(), last);
        if (row < 0) yield null;
        row += value.distance();
        if (row < 0 || (value.distance() > 0 && !isRow(row))) yield null;
        yield value.expression().eval(value.readsVariable() ? row(path, row) : rows.get(row));
      }
    };
  }

  /** Returns a row with the name of its variable, or NULL for a row outside of the match. */
  private InternalRow row(Path path, int row) {
    int variable = path.variable(row);
    Object name = variable < 0 ? null : names[variable];
    return new JoinedRow(rows.get(row), new GenericInternalRow(new Object[] {name}));
  }
}
