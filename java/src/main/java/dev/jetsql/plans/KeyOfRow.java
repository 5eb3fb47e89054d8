package dev.jetsql.plans;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Returns the key of a row: a constant, for keys without columns, and columns of the row.
 *
 * @param columns the indexes of the columns
 */
record KeyOfRow(List<Integer> columns) implements MapFunction<Row, Row> {
  @Override
  public Row call(Row row) {
    var key = new ArrayList<Object>(List.of(0));
    for (int column : columns) key.add(row.get(column));
    return RowFactory.create(key.toArray());
  }

  /** Returns the type of the key of rows. */
  StructType type(StructType rows) {
    var type = new StructType().add("all", DataTypes.IntegerType);
    for (int column : columns) type = type.add("k" + column, rows.fields()[column].dataType());
    return type;
  }
}
