package dev.jetsql.records;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The columns that a checked format adds to those of a table. */
final class FileColumns {
  /** The text that does not fit the columns; NULL if it does. */
  static final String BROKEN = JsonRecords.BROKEN;

  /** The number in its file of a line that does not fit; NULL if the format has no such lines. */
  static final String LINE = "__jetsql_line";

  /** What Spark knows of the file of a row. Its own name is one that users may not write. */
  static final String METADATA = "__jetsql_metadata";

  private FileColumns() {}

  /**
   * Returns columns with those of this class before them: Spark moves the partition's to the end.
   */
  static StructType add(StructType columns) {
    var all = new StructType().add(BROKEN, DataTypes.StringType).add(LINE, DataTypes.LongType);
    for (var column : columns.fields()) all = all.add(column);
    return all;
  }

  static StructType remove(StructType columns) {
    var own = new StructType();
    for (var column : columns.fields())
      if (!column.name().equals(BROKEN) && !column.name().equals(LINE)) own = own.add(column);
    return own;
  }
}
