package dev.jetsql.rewrites.ttl;

import dev.jetsql.plans.AggregateBuffers;
import dev.jetsql.plans.RowConverter;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Returns each changed group, and forgets a group that has no row for its time to live. */
final class AggregateProcessor extends TtlProcessor {
  private static final long serialVersionUID = 1;

  private final int keyCount;
  private final AggregateBuffers aggregates;
  private final StructType input;
  private transient ValueState<Row> stored;
  private transient RowConverter rowsOfInput;
  private transient RowConverter buffers;

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
    super(millis, expressions, List.of(aggregates.type()));
    this.keyCount = keyCount;
    this.aggregates = aggregates;
    this.input = input;
  }

  @Override
  public String state() {
    return "each group, for its time to live";
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    var type = aggregates.type();
    stored = getHandle().getValueState("buffers", StateTypes.encoder(type), ttl());
    rowsOfInput = new RowConverter(input);
    buffers = new RowConverter(type);
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    var buffer = aggregates.open(stored.exists() ? buffers.internal(stored.get()) : null);
    Row last = null;
    while (rows.hasNext()) {
      last = rows.next();
      aggregates.update(buffer, rowsOfInput.unsafe(last));
    }
    stored.update(buffers.external(buffer));
    return CollectionConverters.asScala(List.of(result(last, buffer)).iterator());
  }

  private Row result(Row row, InternalRow buffer) {
    var result = new ArrayList<Object>();
    for (int i = 0; i < keyCount; i++) result.add(row.get(i));
    result.addAll(aggregates.results(buffer));
    return RowFactory.create(result.toArray());
  }
}
