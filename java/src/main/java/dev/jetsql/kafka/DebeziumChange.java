package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.timestamp_millis;
import static org.apache.spark.sql.functions.when;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A change of Debezium as a struct: the columns of the row, and hidden fields that say what the
 * change is. Its columns are those of `after`, or of `before` if it is a deletion.
 */
final class DebeziumChange {
  /** What a table of changes has as metadata columns, besides Kafka's fields. */
  static final StructType METADATA =
      new StructType()
          .add("_op", DataTypes.StringType)
          .add("_source_timestamp", DataTypes.TimestampType)
          .add("_source", DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType));

  private static final String HIDDEN = "__jetsql";
  private static final String BROKEN = "__jetsql_broken";
  private static final List<String> OPERATIONS = List.of("c", "r", "u", "d");

  private DebeziumChange() {}

  /** Returns whether each message of a format is a change of a row. */
  static boolean isFormat(String name) {
    return DebeziumFormat.NAME.equalsIgnoreCase(name)
        || DebeziumAvroFormat.NAME.equalsIgnoreCase(name);
  }

  /** Returns the row of a change with the fields `op`, `before` and `after`. */
  static Column row(Column change) {
    return when(change.getField("op").equalTo("d"), change.getField("before"))
        .otherwise(change.getField("after"));
  }

  /**
   * Returns the struct of a change.
   *
   * @param columns the columns of the row, with their names
   * @param source a map of texts
   * @param broken why the columns do not fit, a text, or NULL if they do
   */
  static Column of(List<Column> columns, Column change, Column source, Column broken) {
    Column millis = source.getItem("ts_ms").try_cast(DataTypes.LongType);
    List<Column> fields = new ArrayList<>(columns);
    fields.add(change.getField("op").as(HIDDEN + "_op"));
    fields.add(timestamp_millis(millis).as(HIDDEN + "_source_timestamp"));
    fields.add(source.as(HIDDEN + "_source"));
    fields.add(row(change).isNotNull().as(HIDDEN + "_row"));
    fields.add(broken.as(BROKEN));
    return struct(fields.toArray(Column[]::new));
  }

  /** Returns a metadata column of a change. */
  static Column metadata(Column row, String name) {
    return row.getField(HIDDEN + name);
  }

  /** Returns why the columns of a change do not fit, or NULL if they do. */
  static Column misfit(Column row) {
    return row.getField(BROKEN);
  }

  /** Returns whether a message is no change, or its columns are of other types. */
  static Column isBroken(Column row) {
    Column isChange = metadata(row, "_op").isin(OPERATIONS.toArray()).and(metadata(row, "_row"));
    return row.isNull()
        .or(misfit(row).isNotNull())
        .or(coalesce(isChange, lit(false)).equalTo(false));
  }

  /**
   * Returns the reason why a message is broken, as a text without a full stop.
   *
   * @param misfit the reason if it is a change
   */
  static Column reason(Column op, Column isRow, Column misfit) {
    return when(op.isNull(), "it is not a change of Debezium: it has no op")
        .when(
            op.isin(OPERATIONS.toArray()).equalTo(false),
            concat(lit("its op is "), op, lit(", which is no change of a row")))
        .when(
            coalesce(isRow, lit(false)).equalTo(false),
            concat(
                lit("its op is "),
                op,
                lit(" and it has no "),
                when(op.equalTo("d"), "before").otherwise("after")))
        .otherwise(misfit);
  }

  /** Returns the part of a reason that names a column of another type. */
  static String otherType(String column, String type) {
    return column + " is not of type " + type;
  }
}
