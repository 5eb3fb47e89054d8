package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.concat_ws;
import static org.apache.spark.sql.functions.from_json;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.timestamp_millis;
import static org.apache.spark.sql.functions.to_json;
import static org.apache.spark.sql.functions.transform;
import static org.apache.spark.sql.functions.try_parse_json;
import static org.apache.spark.sql.functions.when;

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
 *
 * <p>A message is a change. Its columns are those of `after`, or of `before` if it is a deletion.
 */
final class DebeziumFormat {
  static final String NAME = "debezium-json";

  /** What a table of this format has as metadata columns, besides Kafka's fields. */
  static final StructType METADATA =
      new StructType()
          .add("_op", DataTypes.StringType)
          .add("_source_timestamp", DataTypes.TimestampType)
          .add("_source", DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType));

  private static final String HIDDEN = "__jetsql";
  private static final String BROKEN = "__jetsql_broken";
  private static final String TIMESTAMP_FORMAT = "timestampFormat";
  private static final List<String> OPERATIONS = List.of("c", "r", "u", "d");

  private final StructType columns;
  private final Map<String, String> options;

  DebeziumFormat(StructType columns, Map<String, String> options) {
    this.columns = columns;
    this.options = options;
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
            .add("source", METADATA.apply("_source").dataType());
    StructType message = change.add("payload", change).add(BROKEN, DataTypes.StringType);
    Map<String, String> formatOptions = new HashMap<>(options);
    formatOptions.put("mode", "PERMISSIVE");
    formatOptions.put("columnNameOfCorruptRecord", BROKEN);
    Column parsed = from_json(bytes.cast(DataTypes.StringType), message, formatOptions);
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
    Column op = change.getField("op");
    Column row =
        when(op.equalTo("d"), change.getField("before")).otherwise(change.getField("after"));
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
    Column source = change.getField("source");
    Column millis = source.getItem("ts_ms").try_cast(DataTypes.LongType);
    fields.add(op.as(HIDDEN + "_op"));
    fields.add(timestamp_millis(millis).as(HIDDEN + "_source_timestamp"));
    fields.add(source.as(HIDDEN + "_source"));
    fields.add(row.isNotNull().as(HIDDEN + "_row"));
    fields.add(coalesce(message.getField(BROKEN), when(misfit, lit(""))).as(BROKEN));
    return struct(fields.toArray(Column[]::new));
  }

  /** Returns a metadata column of a parsed change. */
  static Column metadata(Column row, String name) {
    return row.getField(HIDDEN + name);
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

  /** Returns whether a message is no change, or its columns are of other types. */
  Column isBroken(Column row) {
    Column isChange = metadata(row, "_op").isin(OPERATIONS.toArray()).and(metadata(row, "_row"));
    return row.isNull()
        .or(row.getField(BROKEN).isNotNull())
        .or(coalesce(isChange, lit(false)).equalTo(false));
  }

  /** Returns the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    Column text = bytes.cast(DataTypes.StringType);
    Column op = metadata(parse(bytes, new StructType()), "_op");
    List<Column> misfits = new ArrayList<>();
    for (StructField column : columns.fields()) {
      Column broken = parse(bytes, new StructType(new StructField[] {column})).getField(BROKEN);
      misfits.add(
          when(broken.isNotNull(), column.name() + " is not of type " + column.dataType().sql()));
    }
    Column isRow = metadata(parse(bytes), "_row");
    return when(try_parse_json(text).isNull(), "it is not valid JSON")
        .when(op.isNull(), "it is not a change of Debezium: it has no op")
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
        .otherwise(concat_ws(", ", misfits.toArray(Column[]::new)));
  }

  /**
   * Returns the bytes of a change.
   *
   * @param row the struct of the columns
   * @param isDeleted whether the change is a deletion
   * @param op the operation of any other change
   */
  Column encode(Column row, Column isDeleted, String op, Map<String, String> formatOptions) {
    Map<String, String> withNulls = new HashMap<>(formatOptions);
    withNulls.putIfAbsent("ignoreNullFields", "false");
    Column change =
        struct(
            when(isDeleted, row).as("before"),
            when(isDeleted, lit(null)).otherwise(row).as("after"),
            when(isDeleted, "d").otherwise(op).as("op"));
    return to_json(change, withNulls).cast(DataTypes.BinaryType);
  }
}
