package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.call_function;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.concat_ws;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.map;
import static org.apache.spark.sql.functions.nullif;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.to_json;
import static org.apache.spark.sql.functions.transform;
import static org.apache.spark.sql.functions.when;

import dev.jetsql.kafka.registry.ChangeSchema;
import dev.jetsql.kafka.registry.RegisteredRecords;
import dev.jetsql.kafka.registry.WireFormat;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Converts between columns and Debezium's changes in Avro: a record with `op`, `before`, `after`
 * and `source`, whose schema is in a schema registry.
 */
final class DebeziumAvroFormat {
  static final String NAME = "debezium-avro";

  private final StructType columns;
  private final AvroSubject subject;

  DebeziumAvroFormat(StructType columns, AvroSubject subject) {
    this.columns = columns;
    this.subject = subject;
  }

  /** Returns a change as a struct of its columns and hidden fields. */
  Column parse(Column bytes) {
    String schema = subject.readerSchemaOfChanges(columns).toString();
    var records = new RegisteredRecords(subject.registry(), schema);
    Column record = functions.udf(records.converter(), DataTypes.BinaryType).apply(bytes);
    Column options = map(lit("mode"), lit("PERMISSIVE"));
    Column parsed = call_function("from_avro", record, lit(schema), options);
    StructType fields = AvroFormat.fields(schema);
    // Spark evaluates the argument of a lambda function once.
    return transform(array(parsed), change -> fields(change, fields)).getItem(0);
  }

  private Column fields(Column change, StructType types) {
    StructType rowType = (StructType) types.apply(ChangeSchema.AFTER).dataType();
    Column row = DebeziumChange.row(change);
    List<Column> members = new ArrayList<>();
    List<Column> misfits = new ArrayList<>();
    for (StructField column : columns.fields()) {
      DataType type = column.dataType();
      String field = KafkaFormat.fieldName(rowType, column.name());
      Column value = field == null ? lit(null) : row.getField(field);
      boolean isConvertible = field == null || isConvertible(rowType.apply(field).dataType(), type);
      Column converted = (isConvertible ? value : lit(null)).try_cast(type);
      Column isMisfit = value.isNotNull().and(converted.isNull());
      misfits.add(when(isMisfit, DebeziumChange.otherType(column.name(), type.sql())));
      members.add(converted.as(column.name()));
    }
    Column broken = nullif(concat_ws(", ", misfits.toArray(Column[]::new)), lit(""));
    return DebeziumChange.of(members, change, source(change, types), broken);
  }

  /** Returns whether values can be cast. Spark would read a number as seconds. */
  private static boolean isConvertible(DataType from, DataType to) {
    boolean isUnitLost = isTime(from) && to instanceof NumericType;
    boolean isUnitUnknown = from instanceof NumericType && isTime(to);
    return Cast$.MODULE$.canTryCast(from, to) && !isUnitLost && !isUnitUnknown;
  }

  private static boolean isTime(DataType type) {
    return type.equals(DataTypes.TimestampType)
        || type.equals(DataTypes.TimestampNTZType)
        || type.equals(DataTypes.DateType);
  }

  /** Returns the fields of `source` as a map of texts. */
  private static Column source(Column change, StructType types) {
    DataType mapType = DebeziumChange.METADATA.apply("_source").dataType();
    if (!List.of(types.fieldNames()).contains(ChangeSchema.SOURCE)) return lit(null).cast(mapType);
    Column source = change.getField(ChangeSchema.SOURCE);
    List<Column> pairs = new ArrayList<>();
    StructType fields = (StructType) types.apply(ChangeSchema.SOURCE).dataType();
    for (StructField field : fields.fields()) {
      Column value = source.getField(field.name());
      boolean isText = KafkaFormat.isText(field.dataType());
      pairs.add(lit(field.name()));
      pairs.add(isText ? value.cast(DataTypes.StringType) : to_json(value));
    }
    return when(source.isNotNull(), map(pairs.toArray(Column[]::new))).cast(mapType);
  }

  /** Returns the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    String schema = subject.readerSchemaOfChanges(columns).toString();
    var records = new RegisteredRecords(subject.registry(), schema);
    Column mismatch = functions.udf(records.reason(), DataTypes.StringType).apply(bytes);
    Column row = parse(bytes);
    Column op = DebeziumChange.metadata(row, "_op");
    Column isRow = DebeziumChange.metadata(row, "_row");
    return coalesce(mismatch, DebeziumChange.reason(op, isRow, DebeziumChange.misfit(row)));
  }

  /**
   * Returns the bytes of a change.
   *
   * @param values the values of the row, in the order of the columns
   * @param isDeleted whether the change is a deletion
   * @param op the operation of any other change
   */
  Column encode(Column[] values, Column isDeleted, String op) {
    AvroSubject.Writer writer = subject.writerOfChanges(columns);
    String schema = writer.schema().toString();
    List<Column> members = new ArrayList<>();
    for (StructField field : AvroFormat.fields(schema).fields()) {
      Column value =
          switch (field.name()) {
            case ChangeSchema.BEFORE -> when(isDeleted, row(values, field));
            case ChangeSchema.AFTER -> when(isDeleted, lit(null)).otherwise(row(values, field));
            case ChangeSchema.OP -> when(isDeleted, "d").otherwise(op);
            default -> lit(null).cast(field.dataType());
          };
      members.add(value.as(field.name()));
    }
    Column record = call_function("to_avro", struct(members.toArray(Column[]::new)), lit(schema));
    return concat(lit(WireFormat.header(writer.id())), record);
  }

  private Column row(Column[] values, StructField field) {
    return AvroFormat.row(values, columns, (StructType) field.dataType());
  }
}
