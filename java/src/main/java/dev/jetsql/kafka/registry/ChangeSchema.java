package dev.jetsql.kafka.registry;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.avro.JsonProperties;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;

/**
 * The Avro schema of Debezium's messages: a record with `op`, and with the row as `before` and
 * `after`.
 */
public final class ChangeSchema {
  public static final String BEFORE = "before";
  public static final String AFTER = "after";
  public static final String OP = "op";
  public static final String SOURCE = "source";

  /** The name of the row's record, as Debezium writes it. */
  public static final String ROW = "Value";

  private static final String ENVELOPE = "Envelope";
  // Kafka Connect keeps the names of Debezium's types, and Debezium has no logical types for times.
  private static final String TYPE_NAME = "connect.name";
  private static final Map<String, LogicalType> TIMES =
      Map.of(
          "io.debezium.time.Date", LogicalTypes.date(),
          "io.debezium.time.Timestamp", LogicalTypes.localTimestampMillis(),
          "io.debezium.time.MicroTimestamp", LogicalTypes.localTimestampMicros());

  private ChangeSchema() {}

  /**
   * Returns the record of the row. Throws IllegalArgumentException, with a text without a full
   * stop, if the schema is not that of a change.
   */
  public static Schema row(Schema change) {
    Schema row = record(change, AFTER);
    if (row == null) row = record(change, BEFORE);
    if (row == null || change.getField(OP) == null) {
      throw new IllegalArgumentException(
          "it is not that of a change of Debezium, with op, before and after");
    }
    return row;
  }

  /** Returns the record that a field has as its type, or null. */
  private static Schema record(Schema change, String name) {
    if (change.getType() != Schema.Type.RECORD || change.getField(name) == null) return null;
    Schema type = change.getField(name).schema();
    List<Schema> members = type.isUnion() ? type.getTypes() : List.of(type);
    return members.stream()
        .filter(member -> member.getType() == Schema.Type.RECORD)
        .findFirst()
        .orElse(null);
  }

  /** Returns the schema of changes of a row, all of whose fields may be absent but `op`. */
  public static Schema of(Schema row) {
    List<Schema.Field> fields = new ArrayList<>();
    fields.add(nullable(BEFORE, row));
    fields.add(nullable(AFTER, row));
    fields.add(new Schema.Field(OP, Schema.create(Schema.Type.STRING)));
    return Schema.createRecord(ENVELOPE, null, row.getNamespace(), false, fields);
  }

  /**
   * Returns the schema to which changes of all versions are converted: the columns of the row,
   * `op`, and `source` if the newest version has it.
   *
   * @param isNumber whether a column is a whole number, and a time is to stay one
   */
  public static Schema target(Schema newest, List<String> columns, Predicate<String> isNumber) {
    Schema row = withTimes(Resolution.target(row(newest), columns), isNumber);
    Schema source = record(newest, SOURCE);
    List<Schema.Field> fields = new ArrayList<>();
    fields.add(nullable(BEFORE, row));
    fields.add(nullable(AFTER, row));
    fields.add(nullable(OP, Schema.create(Schema.Type.STRING)));
    if (source != null) {
      List<String> names = source.getFields().stream().map(Schema.Field::name).toList();
      fields.add(nullable(SOURCE, Resolution.target(source, names)));
    }
    return Schema.createRecord(newest.getName(), null, newest.getNamespace(), false, fields);
  }

  /**
   * Returns the schema with logical types for Debezium's dates and timestamps. The bytes stay the
   * same.
   */
  public static Schema writable(Schema change, Predicate<String> isNumber) {
    Schema row = withTimes(row(change), isNumber);
    List<Schema.Field> fields = new ArrayList<>();
    for (Schema.Field field : change.getFields()) {
      boolean isRow = field.name().equals(BEFORE) || field.name().equals(AFTER);
      Schema type = isRow ? replaceRecord(field.schema(), row) : field.schema();
      fields.add(new Schema.Field(field, type));
    }
    return Schema.createRecord(change.getName(), null, change.getNamespace(), false, fields);
  }

  /** Returns a row with logical types for Debezium's dates and timestamps. */
  public static Schema withTimes(Schema row, Predicate<String> isNumber) {
    List<Schema.Field> fields = new ArrayList<>();
    for (Schema.Field field : row.getFields()) {
      Schema type = isNumber.test(field.name()) ? field.schema() : withTime(field.schema());
      fields.add(new Schema.Field(field, type));
    }
    return Schema.createRecord(row.getName(), null, row.getNamespace(), false, fields);
  }

  private static Schema withTime(Schema type) {
    if (type.isUnion())
      return Schema.createUnion(type.getTypes().stream().map(ChangeSchema::withTime).toList());
    LogicalType time = time(type);
    return time == null ? type : time.addToSchema(Schema.create(type.getType()));
  }

  /** Returns the logical type of a type of Debezium that has none in the schema, or null. */
  static LogicalType time(Schema type) {
    if (type.getLogicalType() != null) return null;
    LogicalType time = TIMES.get(String.valueOf(type.getProp(TYPE_NAME)));
    boolean isDate = type.getType() == Schema.Type.INT;
    boolean isTimestamp = type.getType() == Schema.Type.LONG;
    boolean fits = time != null && (time.getName().equals("date") ? isDate : isTimestamp);
    return fits ? time : null;
  }

  private static Schema replaceRecord(Schema type, Schema row) {
    if (!type.isUnion()) return row;
    return Schema.createUnion(
        type.getTypes().stream()
            .map(member -> member.getType() == Schema.Type.RECORD ? row : member)
            .toList());
  }

  private static Schema.Field nullable(String name, Schema type) {
    Schema union = Schema.createUnion(Schema.create(Schema.Type.NULL), type);
    return new Schema.Field(name, union, null, JsonProperties.NULL_VALUE);
  }
}
