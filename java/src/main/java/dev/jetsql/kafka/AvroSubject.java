package dev.jetsql.kafka;

import dev.jetsql.kafka.registry.AvroSchemas;
import dev.jetsql.kafka.registry.ChangeSchema;
import dev.jetsql.kafka.registry.Resolution;
import dev.jetsql.kafka.registry.SchemaRegistry;
import dev.jetsql.kafka.registry.Subject;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.avro.Schema;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;

/** The subject of a table with messages in Avro, and the schemas to read and write them. */
final class AvroSubject {
  private final Subject<Schema> subject;

  private AvroSubject(Subject<Schema> subject) {
    this.subject = subject;
  }

  /** The schema of the records that a table writes, and its id. */
  record Writer(int id, Schema schema) {}

  /** Returns the subject of a table's values, or null without a registry. */
  static AvroSubject ofValues(Map<String, String> tableOptions) {
    return of(Subject.ofValues(tableOptions, new AvroSchemas()));
  }

  /** Returns the subject of a table's keys, or null without a registry. */
  static AvroSubject ofKeys(Map<String, String> tableOptions) {
    return of(Subject.ofKeys(tableOptions, new AvroSchemas()));
  }

  private static AvroSubject of(Subject<Schema> subject) {
    return subject == null ? null : new AvroSubject(subject);
  }

  SchemaRegistry<Schema> registry() {
    return subject.registry();
  }

  /**
   * Returns the columns of the pinned or newest version. Throws SOURCE_NOT_READY if the registry
   * has none.
   *
   * @param ofChanges whether the columns are those of the changed rows
   */
  StructType columns(boolean ofChanges) {
    Schema found = subject.findColumns();
    try {
      Schema record =
          ofChanges ? ChangeSchema.withTimes(ChangeSchema.row(found), column -> false) : found;
      return AvroFormat.fields(record.toString());
    } catch (IllegalArgumentException e) {
      throw subject.otherSchema("SOURCE_NOT_READY", e.getMessage());
    }
  }

  /**
   * Returns the schema to which records of all versions are converted: the schema of the option,
   * otherwise the pinned or newest version, otherwise that of the columns.
   */
  Schema readerSchema(StructType columns, String option) {
    SchemaRegistry.Registered<Schema> found =
        option != null ? null : subject.find("SOURCE_NOT_READY");
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
    SchemaRegistry.Registered<Schema> found = subject.find("SOURCE_NOT_READY");
    Schema newest = found != null ? found.schema() : schemaOfChanges(columns);
    try {
      return ChangeSchema.target(newest, List.of(columns.fieldNames()), isNumber(columns));
    } catch (IllegalArgumentException e) {
      throw subject.otherSchema("SOURCE_NOT_READY", e.getMessage());
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
    subject.checkName();
    if (!subject.isPinned()) {
      Schema schema = schemaOfChanges(columns);
      return new Writer(subject.register(schema.toString()), schema);
    }
    SchemaRegistry.Registered<Schema> found = pinnedRecord();
    try {
      Schema schema = ChangeSchema.writable(found.schema(), isNumber(columns));
      checkFields(schema, List.of(ChangeSchema.BEFORE, ChangeSchema.AFTER, ChangeSchema.OP));
      checkFields(ChangeSchema.row(schema), List.of(columns.fieldNames()));
      return new Writer(found.id(), schema);
    } catch (IllegalArgumentException e) {
      throw subject.otherSchema("SINK_NOT_READY", e.getMessage());
    }
  }

  /**
   * Returns the pinned version, or registers the schema of the option or of the columns. Throws
   * SINK_NOT_READY if the registry refuses it.
   */
  Writer writer(StructType columns, String option) {
    subject.checkName();
    if (subject.isPinned()) {
      SchemaRegistry.Registered<Schema> found = pinnedRecord();
      checkFields(found.schema(), List.of(columns.fieldNames()));
      return new Writer(found.id(), found.schema());
    }
    Schema schema =
        option != null
            ? new Schema.Parser().parse(option)
            : Resolution.withNullDefaults(AvroFormat.derivedSchema(columns));
    return new Writer(subject.register(schema.toString()), schema);
  }

  private SchemaRegistry.Registered<Schema> pinnedRecord() {
    SchemaRegistry.Registered<Schema> found = subject.findPinned();
    if (found.schema().getType() != Schema.Type.RECORD)
      throw subject.otherSchema("SINK_NOT_READY", "it is not a record");
    return found;
  }

  /** Checks that a pinned record has the columns, and requires no other fields. */
  private void checkFields(Schema record, List<String> columns) {
    for (Schema.Field field : record.getFields()) {
      boolean isColumn = columns.stream().anyMatch(field.name()::equalsIgnoreCase);
      if (isColumn || field.schema().isNullable()) continue;
      throw subject.notWritable(
          "requires the field " + field.name() + ", for which there is no column");
    }
    for (String column : columns) {
      if (record.getFields().stream().anyMatch(f -> f.name().equalsIgnoreCase(column))) continue;
      throw subject.notWritable("has no field for the column " + column);
    }
  }
}
