package dev.jetsql.rewrites.changes;

import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.StateTypes;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.math.Ordering;

/**
 * How often each value is in a group, of a column of rows with a sign.
 *
 * <p>A batch first collects its changes with `add`, and then applies them to the state.
 */
final class ValueCounts implements Serializable {
  private static final long serialVersionUID = 1;

  private final int column;
  private final DataType valueType;
  private final StructType type;
  private transient MapState<Row, Long> counts;
  private transient Map<UnsafeRow, Integer> changes;
  private transient UnsafeProjection toUnsafe;
  private transient RowConverter values;
  private transient Ordering<Object> order;

  /**
   * Creates the counts.
   *
   * @param column the index of the column
   * @param type its type
   */
  ValueCounts(int column, DataType type) {
    this.column = column;
    this.valueType = type;
    this.type = new StructType().add("value", type);
  }

  /** Opens the state. number: that of the counts in their operator */
  void open(StatefulProcessorHandle handle, int number) {
    counts =
        handle.getMapState(
            "values" + number, StateTypes.encoder(type), Encoders.LONG(), TTLConfig.NONE());
    changes = new HashMap<>();
    toUnsafe = UnsafeProjection.create(type);
    values = new RowConverter(type);
    order = TypeUtils$.MODULE$.getInterpretedOrdering(valueType);
  }

  void add(InternalRow row, int sign) {
    if (row.isNullAt(column)) return;
    var value = new GenericInternalRow(new Object[] {row.get(column, valueType)});
    changes.merge(toUnsafe.apply(value).copy(), sign, Integer::sum);
  }

  /** Returns the type of the rows that the state keeps. */
  StructType type() {
    return type;
  }

  /** Returns the type of the facts about the values. */
  StructType factsType() {
    return new StructType()
        .add("min", valueType)
        .add("max", valueType)
        .add("different", DataTypes.LongType);
  }

  /**
   * Applies the changes of a batch, and returns the facts about the values after it.
   *
   * @param facts those before the batch, or null
   */
  InternalRow apply(InternalRow facts) {
    var extremes = new Object[2];
    for (int i = 0; i < 2 && facts != null; i++)
      extremes[i] = facts.isNullAt(i) ? null : facts.get(i, valueType);
    long different = facts == null ? 0 : facts.getLong(2);
    var removed = new ArrayList<Object>();
    for (var change : changes.entrySet()) {
      var value = values.external(change.getKey());
      long before = counts.containsKey(value) ? counts.getValue(value) : 0;
      long after = before + change.getValue();
      if (after == before) continue;
      if (after == 0) counts.removeKey(value);
      else counts.updateValue(value, after);
      different += Math.min(after, 1) - Math.min(before, 1);
      var internal = change.getKey().get(0, valueType);
      if (after == 0) removed.add(internal);
      else include(extremes, internal);
    }
    changes.clear();
    if (removed.stream().anyMatch(value -> isOneOf(extremes, value))) readExtremes(extremes);
    return new GenericInternalRow(new Object[] {extremes[0], extremes[1], different});
  }

  private void readExtremes(Object[] extremes) {
    extremes[0] = extremes[1] = null;
    var keys = counts.keys();
    while (keys.hasNext()) include(extremes, values.internal(keys.next()).get(0, valueType));
  }

  private void include(Object[] extremes, Object value) {
    if (extremes[0] == null || order.compare(value, extremes[0]) < 0) extremes[0] = value;
    if (extremes[1] == null || order.compare(value, extremes[1]) > 0) extremes[1] = value;
  }

  private boolean isOneOf(Object[] extremes, Object value) {
    return order.compare(extremes[0], value) == 0 || order.compare(extremes[1], value) == 0;
  }
}
