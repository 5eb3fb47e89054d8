package dev.jetsql.kafka.registry;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.avro.JsonProperties;
import org.apache.avro.LogicalType;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;

/** The rules by which a record of one Avro schema becomes a record of another. */
public final class Resolution {
  private static final int MAX_DEPTH = 20; // of recursive schemas

  private Resolution() {}

  /**
   * Returns a schema with those fields of a record that the columns name. A field without a default
   * value becomes nullable, so that a record of another version may lack it.
   */
  public static Schema target(Schema newest, Collection<String> columns) {
    List<Schema.Field> fields = new ArrayList<>();
    for (Schema.Field field : newest.getFields()) {
      if (columns.stream().noneMatch(field.name()::equalsIgnoreCase)) continue;
      fields.add(
          field.hasDefaultValue()
              ? new Schema.Field(field, field.schema())
              : withNullDefault(field));
    }
    return record(newest, fields);
  }

  /**
   * Returns a record whose nullable fields have the default value NULL. Then versions with more and
   * with fewer columns are compatible.
   */
  public static Schema withNullDefaults(Schema schema) {
    List<Schema.Field> fields = new ArrayList<>();
    for (Schema.Field field : schema.getFields()) {
      fields.add(
          field.schema().isNullable() && !field.hasDefaultValue()
              ? withNullDefault(field)
              : new Schema.Field(field, field.schema()));
    }
    return record(schema, fields);
  }

  private static Schema.Field withNullDefault(Schema.Field field) {
    List<Schema> types = new ArrayList<>();
    types.add(Schema.create(Schema.Type.NULL));
    List<Schema> members =
        field.schema().isUnion() ? field.schema().getTypes() : List.of(field.schema());
    for (Schema type : members) if (type.getType() != Schema.Type.NULL) types.add(type);
    Schema.Field nullable =
        new Schema.Field(
            field.name(), Schema.createUnion(types), field.doc(), JsonProperties.NULL_VALUE);
    field.aliases().forEach(nullable::addAlias);
    return nullable;
  }

  private static Schema record(Schema like, List<Schema.Field> fields) {
    return Schema.createRecord(
        like.getName(), like.getDoc(), like.getNamespace(), like.isError(), fields);
  }

  /**
   * Returns why records of a schema cannot become records of another, as a text without a full
   * stop; null if they can.
   */
  static String mismatch(Schema written, Schema target) {
    if (written.getType() != Schema.Type.RECORD) return "it is not a record";
    // Avro compares the names of the outermost records, which say nothing about their fields.
    List<Schema.Field> fields = new ArrayList<>();
    for (Schema.Field field : target.getFields())
      fields.add(new Schema.Field(field, field.schema()));
    Schema renamed =
        Schema.createRecord(
            written.getName(), null, written.getNamespace(), target.isError(), fields);
    var result = SchemaCompatibility.checkReaderWriterCompatibility(renamed, written);
    if (result.getType() != SchemaCompatibilityType.COMPATIBLE) {
      var reasons = result.getResult().getIncompatibilities();
      return reasons.isEmpty()
          ? "they are incompatible"
          : reasons.get(0).getLocation() + ": " + reasons.get(0).getMessage();
    }
    for (Schema.Field field : target.getFields()) {
      Schema.Field source = written.getField(field.name());
      if (source == null) continue;
      // Avro ignores logical types: milliseconds would be read as microseconds.
      if (hasOtherLogicalType(source.schema(), field.schema(), 0)) {
        return "the field " + field.name() + " has another logical type";
      }
    }
    return null;
  }

  private static boolean hasOtherLogicalType(Schema written, Schema target, int depth) {
    Schema from = withoutNull(written);
    Schema to = withoutNull(target);
    if (depth > MAX_DEPTH || from.getType() != to.getType()) return isOther(from, to);
    return switch (from.getType()) {
      case ARRAY -> hasOtherLogicalType(from.getElementType(), to.getElementType(), depth + 1);
      case MAP -> hasOtherLogicalType(from.getValueType(), to.getValueType(), depth + 1);
      case RECORD ->
          to.getFields().stream()
              .filter(field -> from.getField(field.name()) != null)
              .anyMatch(
                  field ->
                      hasOtherLogicalType(
                          from.getField(field.name()).schema(), field.schema(), depth + 1));
      default -> isOther(from, to);
    };
  }

  private static boolean isOther(Schema from, Schema to) {
    LogicalType time = ChangeSchema.time(from);
    boolean isTime = time != null && time.getName().equals(logicalName(to));
    return !isTime && !name(from).equals(name(to));
  }

  private static String logicalName(Schema schema) {
    return schema.getLogicalType() == null ? null : schema.getLogicalType().getName();
  }

  /** Returns the type of a nullable type, and other types unchanged. */
  private static Schema withoutNull(Schema schema) {
    if (!schema.isUnion() || schema.getTypes().size() != 2 || !schema.isNullable()) return schema;
    boolean isFirst = schema.getTypes().get(0).getType() == Schema.Type.NULL;
    return schema.getTypes().get(isFirst ? 1 : 0);
  }

  private static String name(Schema schema) {
    return schema.getLogicalType() == null
        ? ""
        : schema.getLogicalType().getName() + schema.getObjectProp("scale");
  }
}
