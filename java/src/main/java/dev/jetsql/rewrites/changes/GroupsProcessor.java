package dev.jetsql.rewrites.changes;

import dev.jetsql.plans.AggregateBuffers;
import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.RuleProcessor;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
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
 * Aggregates rows with a sign by groups, also by min(), max() and count(DISTINCT), which need all
 * values of a group: the new minimum is one of them when the old one is taken back.
 *
 * <p>The row of a group has the grouping columns, the results of the sums, and for each column of
 * values its minimum, maximum, and number of different values.
 */
final class GroupsProcessor extends RuleProcessor {
  private static final long serialVersionUID = 1;

  private final String groups;
  private final int keyCount;
  private final int signColumn;
  private final AggregateBuffers sums;
  private final List<ValueCounts> values;
  private final StructType input;
  private transient ValueState<Row> stored;
  private transient RowConverter rowsOfInput;
  private transient RowConverter rowsOfState;

  /**
   * Creates a processor.
   *
   * @param groups the grouping columns, in words
   * @param keyCount the number of grouping columns, which are the first columns of a row
   * @param signColumn the index of the column with the sign
   * @param expressions what the state depends on
   * @param input the columns of the rows
   */
  GroupsProcessor(
      String groups,
      int keyCount,
      int signColumn,
      AggregateBuffers sums,
      List<ValueCounts> values,
      List<? extends Expression> expressions,
      StructType input) {
    super(expressions, kept(sums, values));
    this.groups = groups;
    this.keyCount = keyCount;
    this.signColumn = signColumn;
    this.sums = sums;
    this.values = new ArrayList<>(values);
    this.input = input;
  }

  @Override
  public String state() {
    return values.isEmpty() ? "each group" : "each group, and its different values";
  }

  @Override
  public String keptForEver() {
    if (values.isEmpty()) return "each group by " + groups;
    return groups.isEmpty() ? "the different values" : "the different values of each " + groups;
  }

  private static List<StructType> kept(AggregateBuffers sums, List<ValueCounts> values) {
    var kept = new ArrayList<StructType>();
    kept.add(type(sums, values));
    for (var each : values) kept.add(each.type());
    return kept;
  }

  /** Returns the type of the state of a group: its rows, the sums, and facts about the values. */
  private static StructType type(AggregateBuffers sums, List<ValueCounts> values) {
    var type = new StructType().add("rows", DataTypes.LongType).add("sums", sums.type());
    for (var each : values) type = type.add("v" + type.size(), each.factsType());
    return type;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    var type = type(sums, values);
    stored = getHandle().getValueState("group", StateTypes.encoder(type), TTLConfig.NONE());
    for (int i = 0; i < values.size(); i++) values.get(i).open(getHandle(), i);
    rowsOfInput = new RowConverter(input);
    rowsOfState = new RowConverter(type);
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    var before = stored.exists() ? rowsOfState.internal(stored.get()) : null;
    long count = before == null ? 0 : before.getLong(0);
    var buffer = sums.open(before == null ? null : before.getStruct(1, sums.type().size()));
    Row last = null;
    while (rows.hasNext()) {
      last = rows.next();
      var row = rowsOfInput.unsafe(last);
      sums.update(buffer, row);
      int sign = row.getInt(signColumn);
      count += sign;
      values.forEach(each -> each.add(row, sign));
    }
    var group = new Object[2 + values.size()];
    group[0] = count;
    group[1] = buffer;
    for (int i = 0; i < values.size(); i++)
      group[2 + i] = values.get(i).apply(before == null ? null : before.getStruct(2 + i, 3));
    var after = rowsOfState.external(new GenericInternalRow(group));
    if (count == 0) stored.clear();
    else stored.update(after);
    return CollectionConverters.asScala(List.of(result(last, buffer, after)).iterator());
  }

  private Row result(Row row, InternalRow buffer, Row group) {
    var result = new ArrayList<Object>();
    for (int i = 0; i < keyCount; i++) result.add(row.get(i));
    result.addAll(sums.results(buffer));
    for (int i = 0; i < values.size(); i++) {
      var facts = group.getStruct(2 + i);
      for (int j = 0; j < facts.size(); j++) result.add(facts.get(j));
    }
    return RowFactory.create(result.toArray());
  }
}
