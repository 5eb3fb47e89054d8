package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.registry.ChangeSchema;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.Resolution;
import dev.jetsql.kafka.registry.SchemaRegistry;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.avro.Schema;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;

/** The subject of a table in a schema registry: the versions of the schema of its messages. */
final class RegistrySubject {
  private static final String LATEST = "latest";

  private final SchemaRegistry registry;
  private final String name;
  private final String version;

  private RegistrySubject(SchemaRegistry registry, String name, String version) {
    this.registry = registry;
    this.name = name;
    this.version = version;
  }

  /** The schema of the records that a table writes, and its id. */
  record Writer(int id, Schema schema) {}

  /** Returns the subject of a table's values, or null without a registry. */
  static RegistrySubject ofValues(Map<String, String> tableOptions) {
    SchemaRegistry registry = RegistryOptions.registry(tableOptions);
    if (registry == null) return null;
    String subject = OptionMaps.get(tableOptions, RegistryOptions.SUBJECT);
    String version = OptionMaps.get(tableOptions, RegistryOptions.VERSION);
    String name = subject != null ? subject : ofTopic(tableOptions, "-value");
    return new RegistrySubject(registry, name, version);
  }

  /** Returns the subject of a table's keys, or null without a registry. */
  static RegistrySubject ofKeys(Map<String, String> tableOptions) {
    SchemaRegistry registry = RegistryOptions.registry(tableOptions);
    return registry == null
        ? null
        : new RegistrySubject(registry, ofTopic(tableOptions, "-key"), null);
  }

  private static String ofTopic(Map<String, String> tableOptions, String suffix) {
    String topic = OptionMaps.get(tableOptions, "topic");
    return topic == null ? null : topic + suffix;
  }

  SchemaRegistry registry() {
    return registry;
  }

  /**
   * Returns the columns of the pinned or newest version. Throws SOURCE_NOT_READY if the registry
   * has none.
   *
   * @param ofChanges whether the columns are those of the changed rows
   */
  StructType columns(boolean ofChanges) {
    SchemaRegistry.Registered found = find("SOURCE_NOT_READY");
    if (found == null) {
      throw error(
          "SOURCE_NOT_READY",
          missing() + " Name the columns in CREATE TABLE, or set 'avro.schema.registry.subject'.");
    }
    try {
      Schema record =
          ofChanges
              ? ChangeSchema.withTimes(ChangeSchema.row(found.schema()), column -> false)
              : found.schema();
      return AvroFormat.fields(record.toString());
    } catch (IllegalArgumentException e) {
      throw otherSchema("SOURCE_NOT_READY", e);
    }
  }

  private RuntimeException otherSchema(String condition, IllegalArgumentException e) {
    throw error(
        condition,
        registry + " has a schema for the subject " + name + ", but " + e.getMessage() + ".");
  }

  /**
   * Returns the schema to which records of all versions are converted: the schema of the option,
   * otherwise the pinned or newest version, otherwise that of the columns.
   */
  Schema readerSchema(StructType columns, String option) {
    SchemaRegistry.Registered found = option != null ? null : find("SOURCE_NOT_READY");
    Schema schema =
        option != null
            ? new Schema.Parser().parse(option)
            : found != null && found.schema().getType() == Schema.Type.RECORD
                ? found.schema()
                : AvroFormat.derivedSchema(columns);
    return Resolution.target(schema, List.of(columns.fieldNames()));
  }

  /**
   * Returns the schema to which Debezium's changes of all versions are converted: the pinned or
   * newest version, otherwise that of the columns. Throws SOURCE_NOT_READY if it is not a change's.
   */
  Schema readerSchemaOfChanges(StructType columns) {
    SchemaRegistry.Registered found = find("SOURCE_NOT_READY");
    Schema newest = found != null ? found.schema() : schemaOfChanges(columns);
    try {
      return ChangeSchema.target(newest, List.of(columns.fieldNames()), isNumber(columns));
    } catch (IllegalArgumentException e) {
      throw otherSchema("SOURCE_NOT_READY", e);
    }
  }

  private static Schema schemaOfChanges(StructType columns) {
    Schema row = SchemaConverters.toAvroType(columns, false, ChangeSchema.ROW, "");
    return ChangeSchema.of(Resolution.withNullDefaults(row));
  }

  /** Returns whether a column, in any case, is a number. */
  private static Predicate<String> isNumber(StructType columns) {
    return field -> {
      String column = KafkaFormat.fieldName(columns, field);
      return column != null && columns.apply(column).dataType() instanceof NumericType;
    };
  }

  /**
   * Returns the pinned version for Debezium's changes, or registers the schema of the columns.
   * Throws SINK_NOT_READY if the registry refuses it.
   */
  Writer writerOfChanges(StructType columns) {
    checkName();
    if (version == null) {
      Schema schema = schemaOfChanges(columns);
      return new Writer(registry.register(name, schema), schema);
    }
    SchemaRegistry.Registered found = pinnedRecord();
    try {
      Schema schema = ChangeSchema.writable(found.schema(), isNumber(columns));
      checkFields(schema, List.of(ChangeSchema.BEFORE, ChangeSchema.AFTER, ChangeSchema.OP));
      checkFields(ChangeSchema.row(schema), List.of(columns.fieldNames()));
      return new Writer(found.id(), schema);
    } catch (IllegalArgumentException e) {
      throw otherSchema("SINK_NOT_READY", e);
    }
  }

  /**
   * Returns the pinned version, or registers the schema of the option or of the columns. Throws
   * SINK_NOT_READY if the registry refuses it.
   */
  Writer writer(StructType columns, String option) {
    checkName();
    if (version != null) {
      SchemaRegistry.Registered found = pinnedRecord();
      checkFields(found.schema(), List.of(columns.fieldNames()));
      return new Writer(found.id(), found.schema());
    }
    Schema schema =
        option != null
            ? new Schema.Parser().parse(option)
            : Resolution.withNullDefaults(AvroFormat.derivedSchema(columns));
    return new Writer(registry.register(name, schema), schema);
  }

  private void checkName() {
    if (name != null) return;
    throw error("SINK_NOT_READY", "A table without 'topic' needs 'avro.schema.registry.subject'.");
  }

  private SchemaRegistry.Registered pinnedRecord() {
    SchemaRegistry.Registered found = find("SINK_NOT_READY");
    if (found == null) {
      throw error(
          "SINK_NOT_READY",
          missing() + " Register it, or leave out 'avro.schema.registry.version'.");
    }
    if (found.schema().getType() != Schema.Type.RECORD) {
      throw error("SINK_NOT_READY", registry + " has no record as the schema of " + name + ".");
    }
    return found;
  }

  /** Checks that a pinned record has the columns, and requires no other fields. */
  private void checkFields(Schema record, List<String> columns) {
    for (Schema.Field field : record.getFields()) {
      boolean isColumn = columns.stream().anyMatch(field.name()::equalsIgnoreCase);
      if (isColumn || field.schema().isNullable()) continue;
      throw notWritable("requires the field " + field.name() + ", for which there is no column");
    }
    for (String column : columns) {
      if (record.getFields().stream().anyMatch(f -> f.name().equalsIgnoreCase(column))) continue;
      throw notWritable("has no field for the column " + column);
    }
  }

  private RuntimeException notWritable(String reason) {
    throw error(
        "SINK_NOT_READY",
        "The version "
            + version
            + " of the subject "
            + name
            + " "
            + reason
            + ". Create the table with the columns of this version.");
  }

  private SchemaRegistry.Registered find(String condition) {
    if (name == null) return null;
    return registry.version(name, version == null ? LATEST : version, condition);
  }

  private String missing() {
    return registry
        + " has no "
        + (version == null || version.equals(LATEST) ? "version" : "version " + version)
        + " of the subject "
        + name
        + ".";
  }

  private static RuntimeException error(String condition, String message) {
    return Exceptions.raise(JetSqlException.of(condition, "42501", message));
  }
}
