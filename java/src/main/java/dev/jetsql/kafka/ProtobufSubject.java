package dev.jetsql.kafka;

import dev.jetsql.kafka.protobuf.ColumnsSchema;
import dev.jetsql.kafka.protobuf.ProtobufSchema;
import dev.jetsql.kafka.protobuf.ProtobufSchemas;
import dev.jetsql.kafka.protobuf.RegisteredMessages;
import dev.jetsql.kafka.registry.SchemaRegistry;
import dev.jetsql.kafka.registry.Subject;
import java.util.Map;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;

/** The subject of a table with messages in Protobuf, and the schemas to read and write them. */
final class ProtobufSubject {
  private final Subject<FileDescriptor> subject;
  private final String message;

  private ProtobufSubject(Subject<FileDescriptor> subject, String message) {
    this.subject = subject;
    this.message = message;
  }

  /** The type of the messages that a table writes, and the id of its schema. */
  record Writer(int id, ProtobufSchema schema) {}

  /** Returns the subject of a table's values, or null without a registry. */
  static ProtobufSubject ofValues(Map<String, String> tableOptions) {
    Subject<FileDescriptor> subject = Subject.ofValues(tableOptions, new ProtobufSchemas());
    String message = OptionMaps.get(tableOptions, ProtobufFormat.MESSAGE);
    return subject == null ? null : new ProtobufSubject(subject, message);
  }

  /** Returns the type of the messages that the pinned or newest version has. */
  ProtobufSchema schema() {
    return schema(subject.findColumns(), "SOURCE_NOT_READY");
  }

  private ProtobufSchema schema(FileDescriptor file, String condition) {
    try {
      return ProtobufSchema.of(file, message);
    } catch (IllegalArgumentException e) {
      throw subject.otherSchema(condition, e.getMessage());
    }
  }

  /** Returns the columns of the pinned or newest version. Throws SOURCE_NOT_READY. */
  StructType columns() {
    ProtobufSchema schema = schema();
    try {
      return schema.columns();
    } catch (IllegalArgumentException e) {
      throw subject.otherSchema("SOURCE_NOT_READY", e.getMessage());
    }
  }

  /** Returns the functions that read messages of all versions. */
  RegisteredMessages messages(StructType columns) {
    return new RegisteredMessages(subject.registry(), message, columns);
  }

  /**
   * Returns the pinned or newest version, or registers a schema of the columns if the subject has
   * none. A schema of the columns would give fields other numbers than an existing version. Throws
   * SINK_NOT_READY if the columns do not fit or the registry refuses them.
   */
  Writer writer(StructType columns) {
    subject.checkName();
    SchemaRegistry.Registered<FileDescriptor> found =
        subject.isPinned() ? subject.findPinned() : subject.find("SINK_NOT_READY");
    if (found == null) found = register(columns);
    ProtobufSchema schema = schema(found.schema(), "SINK_NOT_READY");
    for (StructField column : columns.fields()) checkFits(schema, column);
    return new Writer(found.id(), schema);
  }

  private void checkFits(ProtobufSchema schema, StructField column) {
    String reason;
    try {
      reason = schema.whyUnfit(column);
    } catch (IllegalArgumentException e) {
      throw subject.otherSchema("SINK_NOT_READY", e.getMessage());
    }
    if (reason != null) throw Subject.error("SINK_NOT_READY", reason);
  }

  private SchemaRegistry.Registered<FileDescriptor> register(StructType columns) {
    String schema;
    try {
      schema = ColumnsSchema.of(columns, message);
    } catch (IllegalArgumentException e) {
      throw Subject.error("SINK_NOT_READY", e.getMessage());
    }
    int id = subject.register(schema);
    SchemaRegistry.Registered<FileDescriptor> found = subject.registry().byId(id);
    if (found != null && found.schema() != null) return found;
    throw subject.otherSchema(
        "SINK_NOT_READY", found == null ? "it does not return it" : found.problem());
  }
}
