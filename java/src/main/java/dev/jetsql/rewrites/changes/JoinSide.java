package dev.jetsql.rewrites.changes;

import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.StateTypes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of one side of a join that have the key of a group. Equal rows are one entry, with their
 * number and the number of rows of the other side that match.
 *
 * <p>A batch first collects its changes with `add`, then counts matches, and stores both at last.
 */
final class JoinSide {
  private static final StructType COUNTS =
      new StructType().add("rows", DataTypes.LongType).add("matches", DataTypes.LongType);

  private final MapState<Row, Row> stored;
  private final RowConverter converter;
  private final boolean countsMatches;
  private final Map<UnsafeRow, Entry> touched = new LinkedHashMap<>();

  /**
   * Opens the state of a side.
   *
   * @param type the columns of a row
   * @param countsMatches whether the result depends on the number of matches
   */
  JoinSide(StatefulProcessorHandle handle, String name, StructType type, boolean countsMatches) {
    stored =
        handle.getMapState(name, StateTypes.encoder(type), Encoders.row(COUNTS), TTLConfig.NONE());
    converter = new RowConverter(type);
    this.countsMatches = countsMatches;
  }

  /** Equal rows of a side, before and after the changes of a batch. */
  static final class Entry {
    final Row row;
    final UnsafeRow internal;
    final long before;
    private final long matchesBefore;
    private long change;
    private long matches;

    private Entry(Row row, UnsafeRow internal, Row counts) {
      this.row = row;
      this.internal = internal;
      before = counts == null ? 0 : counts.getLong(0);
      matchesBefore = matches = counts == null ? 0 : counts.getLong(1);
    }

    long change() {
      return change;
    }

    long after() {
      return before + change;
    }

    boolean isNew() {
      return before == 0;
    }

    /** Returns by how much the number of rows with a match has changed. */
    long matchedChange() {
      return change - unmatchedChange();
    }

    /** Returns by how much the number of rows without a match has changed. */
    long unmatchedChange() {
      return (matches == 0 ? after() : 0) - (matchesBefore == 0 ? before : 0);
    }
  }

  /** Adds a change of the batch. */
  void add(Row row, int sign) {
    var internal = internal(row);
    var entry = touched.get(internal);
    if (entry == null) {
      var counts = stored.containsKey(row) ? stored.getValue(row) : null;
      entry = new Entry(row, internal, counts);
      touched.put(internal, entry);
    }
    entry.change += sign;
  }

  /** Returns the rows whose number the batch changes. */
  List<Entry> changes() {
    return touched.values().stream().filter(entry -> entry.change != 0).toList();
  }

  /** Passes on the rows that were there before the batch. */
  void forEachStored(Consumer<Entry> action) {
    var all = CollectionConverters.asJava(stored.iterator());
    while (all.hasNext()) {
      var each = all.next();
      var internal = internal(each._1());
      var entry = touched.get(internal);
      action.accept(entry == null ? new Entry(each._1(), internal, each._2()) : entry);
    }
  }

  /** Adds a number of matches, which is negative if they are gone. */
  void addMatches(Entry entry, long number) {
    if (!countsMatches) return;
    entry.matches += number;
    touched.putIfAbsent(entry.internal, entry);
  }

  /** Stores the rows that the batch has changed, and passes them on. */
  void store(Consumer<Entry> action) {
    for (var entry : touched.values()) {
      if (entry.after() < 0)
        throw new IllegalStateException(
            "A row is taken back that is not in the state of the join.");
      action.accept(entry);
      if (entry.change == 0 && entry.matches == entry.matchesBefore) continue;
      if (entry.after() > 0)
        stored.updateValue(entry.row, RowFactory.create(entry.after(), entry.matches));
      else if (!entry.isNew()) stored.removeKey(entry.row);
    }
    touched.clear();
  }

  private UnsafeRow internal(Row row) {
    return converter.unsafe(row).copy();
  }
}
