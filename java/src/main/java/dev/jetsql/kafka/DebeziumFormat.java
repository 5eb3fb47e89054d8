package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.concat_ws;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.transform;
import static org.apache.spark.sql.functions.when;

import dev.jetsql.records.JsonRecords;
import dev.jetsql.records.JsonText;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Converts between columns and Debezium's JSON: an object with `op`, `before`, `after` and
 * `source`, alone or as the `payload` next to its schema.
 */
final class DebeziumFormat {
  static final String NAME = "debezium-json";

  private static final String TIMESTAMP_FORMAT = "timestampFormat";

  private final StructType columns;
  private final Map<String, String> options;
  private final String zone;

  /**
   * @param options the table's options of the JSON, without their prefix
   * @param zone the time zone of the session that reads changes
   */
  DebeziumFormat(StructType columns, Map<String, String> options, String zone) {
    this.columns = columns;
    this.options = options;
    this.zone = zone;
  }

  /** Returns a change as a struct of its columns and hidden fields; NULL for NULL bytes. */
  Column parse(Column bytes) {
    return parse(bytes, columns);
  }

  private Column parse(Column bytes, StructType requested) {
    StructType row = withTextTimestamps(requested);
    StructType change =
        new StructType()
            .add("op", DataTypes.StringType)
            .add("before", row)
            .add("after", row)
            .add("source", DebeziumChange.METADATA.apply("_source").dataType());
    StructType message = change.add("payload", change);
    Column parsed = new JsonRecords(message, options, zone).parse(bytes);
    // Spark evaluates the argument of a lambda function once.
    return transform(array(parsed), each -> fields(each, requested)).getItem(0);
  }

  private Column fields(Column message, StructType requested) {
    Column alone =
        struct(
            message.getField("op").as("op"),
            message.getField("before").as("before"),
            message.getField("after").as("after"),
            message.getField("source").as("source"));
    Column change = coalesce(message.getField("payload"), alone);
    Column row = DebeziumChange.row(change);
    List<Column> fields = new ArrayList<>();
    Column misfit = lit(false);
    for (StructField column : requested.fields()) {
      Column value = row.getField(column.name());
      if (isText(column.dataType())) {
        Column time = value.try_cast(DataTypes.TimestampType);
        misfit = misfit.or(value.isNotNull().and(time.isNull()));
        value = time;
      }
      fields.add(value.as(column.name()));
    }
    Column broken = coalesce(message.getField(JsonRecords.BROKEN), when(misfit, lit("")));
    return DebeziumChange.of(fields, change, change.getField("source"), broken);
  }

  /**
   * Returns columns with STRING in place of TIMESTAMP, unless an option gives a format. Spark would
   * read a number as seconds, and Debezium writes milliseconds or microseconds.
   */
  private StructType withTextTimestamps(StructType requested) {
    StructType row = new StructType();
    for (StructField column : requested.fields()) {
      DataType type = isText(column.dataType()) ? DataTypes.StringType : column.dataType();
      row = row.add(column.name(), type);
    }
    return row;
  }

  private boolean isText(DataType type) {
    return type.equals(DataTypes.TimestampType)
        && OptionMaps.get(options, TIMESTAMP_FORMAT) == null;
  }

  /** Returns the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    Column op = DebeziumChange.metadata(parse(bytes, new StructType()), "_op");
    List<Column> misfits = new ArrayList<>();
    for (StructField column : columns.fields()) {
      Column parsed = parse(bytes, new StructType(new StructField[] {column}));
      String misfit = DebeziumChange.otherType(column.name(), column.dataType().sql());
      misfits.add(when(DebeziumChange.misfit(parsed).isNotNull(), misfit));
    }
    Column isRow = DebeziumChange.metadata(parse(bytes), "_row");
    Column misfit = concat_ws(", ", misfits.toArray(Column[]::new));
    return coalesce(
        new JsonRecords(columns, options, zone).syntaxError(bytes),
        DebeziumChange.reason(op, isRow, misfit));
  }

  /**
   * Returns the bytes of a change.
   *
   * @param row the struct of the columns
   * @param isDeleted whether the change is a deletion
   * @param op the operation of any other change
   * @param zone the time zone of the session that writes
   */
  Column encode(
      Column row, Column isDeleted, String op, Map<String, String> formatOptions, String zone) {
    Map<String, String> withNulls = new HashMap<>(formatOptions);
    withNulls.putIfAbsent("ignoreNullFields", "false");
    Column change =
        struct(
            when(isDeleted, row).as("before"),
            when(isDeleted, lit(null)).otherwise(row).as("after"),
            when(isDeleted, "d").otherwise(op).as("op"));
    return JsonText.of(change, withNulls, zone);
  }
}
