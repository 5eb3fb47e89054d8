package dev.jetsql.plans;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Returns the key of a row: a constant, for keys without columns, and columns of the row. */
final class KeyOfRow implements MapFunction<Row, Row> {
  private static final long serialVersionUID = 1;

  private final List<Integer> columns;
  private final List<EqualKey> parts = new ArrayList<>();

  /**
   * Creates the function.
   *
   * @param columns the indexes of the columns
   * @param rows the type of the rows
   */
  KeyOfRow(List<Integer> columns, StructType rows) {
    this.columns = new ArrayList<>(columns);
    for (int column : columns) parts.add(new EqualKey(rows.fields()[column].dataType()));
  }

  @Override
  public Row call(Row row) {
    var key = new Object[columns.size() + 1];
    key[0] = 0;
    for (int i = 0; i < parts.size(); i++) key[i + 1] = parts.get(i).of(row.get(columns.get(i)));
    return RowFactory.create(key);
  }

  /** Returns the types of the columns. */
  List<DataType> columnTypes() {
    return parts.stream().map(EqualKey::columnType).toList();
  }

  /** Returns the type of the keys. */
  StructType type() {
    var type = new StructType().add("all", DataTypes.IntegerType);
    for (int i = 0; i < parts.size(); i++)
      type = type.add("k" + columns.get(i), parts.get(i).type());
    return type;
  }
}
