package dev.jetsql.rewrites.ttl;

import dev.jetsql.plans.AggregateBuffers;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Returns each changed group, and forgets a group that has no row for its time to live. */
final class AggregateProcessor extends TtlProcessor {
  private static final long serialVersionUID = 1;

  private final int keyCount;
  private final AggregateBuffers aggregates;
  private final List<Expression> expressions;
  private final StructType input;
  private transient ValueState<Row> stored;
  private transient Function1<Object, Object> rowToInternal;
  private transient Function1<Object, Object> bufferToInternal;
  private transient Function1<Object, Object> bufferToRow;
  private transient UnsafeProjection toUnsafe;

  /**
   * Creates a processor.
   *
   * @param keyCount the number of grouping columns, which are the first columns of a row
   * @param expressions what the state depends on
   * @param input the columns of the rows
   */
  AggregateProcessor(
      long millis,
      int keyCount,
      AggregateBuffers aggregates,
      List<Expression> expressions,
      StructType input) {
    super(millis);
    this.keyCount = keyCount;
    this.aggregates = aggregates;
    this.expressions = expressions;
    this.input = input;
  }

  @Override
  public List<Expression> stateExpressions() {
    return expressions;
  }

  @Override
  public String state() {
    return "each group, for its time to live";
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    var type = aggregates.type();
    stored = getHandle().getValueState("buffers", Encoders.row(type), ttl());
    rowToInternal = CatalystTypeConverters.createToCatalystConverter(input);
    bufferToInternal = CatalystTypeConverters.createToCatalystConverter(type);
    bufferToRow = CatalystTypeConverters.createToScalaConverter(type);
    toUnsafe = UnsafeProjection.create(input);
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    var buffer =
        aggregates.open(
            stored.exists() ? (InternalRow) bufferToInternal.apply(stored.get()) : null);
    Row last = null;
    while (rows.hasNext()) {
      last = rows.next();
      aggregates.update(buffer, toUnsafe.apply((InternalRow) rowToInternal.apply(last)));
    }
    stored.update((Row) bufferToRow.apply(buffer));
    return CollectionConverters.asScala(List.of(result(last, buffer)).iterator());
  }

  private Row result(Row row, InternalRow buffer) {
    var values = aggregates.values(buffer);
    var result = new Object[keyCount + values.length];
    for (int i = 0; i < keyCount; i++) result[i] = row.get(i);
    var types = aggregates.resultTypes();
    for (int i = 0; i < values.length; i++)
      result[keyCount + i] = CatalystTypeConverters.convertToScala(values[i], types.get(i));
    return RowFactory.create(result);
  }
}
