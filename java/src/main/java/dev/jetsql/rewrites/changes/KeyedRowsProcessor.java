package dev.jetsql.rewrites.changes;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.RuleProcessor;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Returns the changed rows of a table with keys from the changes of a result: for each key its new
 * row, or its previous row, which a last column marks as deleted. It keeps the row of each key.
 */
final class KeyedRowsProcessor extends RuleProcessor {
  private static final long serialVersionUID = 1;

  private final String keys;
  private final StructType type;
  private transient ValueState<Row> newest;
  private transient RowConverter converter;

  /**
   * Creates a processor.
   *
   * @param keys the key columns, in words
   * @param expressions what the state depends on
   * @param type the columns of a row, without the sign, which is the last column of the input
   */
  KeyedRowsProcessor(String keys, List<? extends Expression> expressions, StructType type) {
    super(expressions, List.of(type));
    this.keys = keys;
    this.type = type;
  }

  @Override
  public String state() {
    return "the row of each key " + keys;
  }

  @Override
  public String keptForEver() {
    return "the row of each " + keys;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    newest = getHandle().getValueState("newest", StateTypes.encoder(type), TTLConfig.NONE());
    converter = new RowConverter(type);
  }

  /** A row of the result, and how often it is there. */
  private static final class Counted {
    private final Row row;
    private int number;

    private Counted(Row row) {
      this.row = row;
    }
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    var counts = new LinkedHashMap<UnsafeRow, Counted>();
    var before = newest.exists() ? newest.get() : null;
    if (before != null) add(counts, before, 1);
    while (rows.hasNext()) {
      var row = rows.next();
      add(counts, firstOf(row, type.size()), row.getInt(type.size()));
    }
    var after = only(counts.values());
    var changes = new ArrayList<Row>();
    if (after != null && !isSame(before, after)) {
      newest.update(after);
      changes.add(firstOf(after, type.size(), false));
    } else if (after == null && before != null) {
      newest.clear();
      changes.add(firstOf(before, type.size(), true));
    }
    return CollectionConverters.asScala(changes.iterator());
  }

  private void add(Map<UnsafeRow, Counted> counts, Row row, int number) {
    counts.computeIfAbsent(converter.unsafe(row).copy(), any -> new Counted(row)).number += number;
  }

  /** Returns the only row that is there, or null for none. */
  private Row only(Iterable<Counted> counts) {
    Row only = null;
    for (var each : counts) {
      if (each.number < 0)
        throw new IllegalStateException("A row is taken back that is not in the result.");
      if (each.number > 1 || (each.number == 1 && only != null))
        throw Exceptions.raise(
            JetSqlException.of(
                "DUPLICATE_KEY",
                "23505",
                "Several rows of the result have the same key (%s), and the table can keep only one. Nothing of the batch was written."
                    .formatted(keys)));
      if (each.number == 1) only = each.row;
    }
    return only;
  }

  private boolean isSame(Row before, Row after) {
    return before != null && converter.unsafe(before).copy().equals(converter.unsafe(after));
  }
}
