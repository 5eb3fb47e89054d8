package dev.jetsql.rewrites.ttl;

import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins the rows of two streams that have a key. A row is forgotten when its time to live is over.
 *
 * <p>Its rows have the columns of the key, and a struct for the row of each stream, of which one is
 * NULL.
 */
final class JoinProcessor extends TtlProcessor {
  private static final long serialVersionUID = 1;

  private final int firstColumn;
  private final StructType first;
  private final StructType second;
  private transient ListState<Row> firstRows;
  private transient ListState<Row> secondRows;

  /**
   * Creates a processor.
   *
   * @param firstColumn the index of the struct for the first stream, before that for the second
   * @param expressions what the state depends on
   */
  JoinProcessor(
      long millis,
      int firstColumn,
      StructType first,
      StructType second,
      List<Expression> expressions) {
    super(millis, expressions, List.of(first, second));
    this.firstColumn = firstColumn;
    this.first = first;
    this.second = second;
  }

  @Override
  public String state() {
    return "the rows of both sides, for their time to live";
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    firstRows = rowsOf("first", first);
    secondRows = rowsOf("second", second);
  }

  private ListState<Row> rowsOf(String name, StructType type) {
    return getHandle().getListState(name, StateTypes.encoder(type), ttl());
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    var newFirst = new ArrayList<Row>();
    var newSecond = new ArrayList<Row>();
    while (rows.hasNext()) {
      var row = rows.next();
      if (row.isNullAt(firstColumn)) newSecond.add(row.getStruct(firstColumn + 1));
      else newFirst.add(row.getStruct(firstColumn));
    }
    var results = new ArrayList<Row>();
    if (!newSecond.isEmpty()) joinAll(read(firstRows), newSecond, results);
    if (!newFirst.isEmpty()) {
      joinAll(newFirst, read(secondRows), results);
      joinAll(newFirst, newSecond, results);
    }
    if (!newFirst.isEmpty()) firstRows.appendList(newFirst.toArray(Row[]::new));
    if (!newSecond.isEmpty()) secondRows.appendList(newSecond.toArray(Row[]::new));
    return CollectionConverters.asScala(results.iterator());
  }

  private void joinAll(List<Row> left, List<Row> right, List<Row> results) {
    for (var each : left) for (var other : right) results.add(joined(each, other));
  }

  private Row joined(Row left, Row right) {
    var values = new Object[first.size() + second.size()];
    for (int i = 0; i < first.size(); i++) values[i] = left.get(i);
    for (int i = 0; i < second.size(); i++) values[first.size() + i] = right.get(i);
    return RowFactory.create(values);
  }
}
