package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.protobuf.ProtobufRows;
import dev.jetsql.kafka.protobuf.ProtobufSchema;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.SchemaType;
import dev.jetsql.kafka.registry.WireFormat;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Converts between columns and Protobuf messages, and has the options of a table for them.
 *
 * <p>CREATE TABLE reads the descriptor file and keeps its content in the table, so that a later
 * change of the file does not change the rows of a job. With a schema registry, each message names
 * its schema.
 */
final class ProtobufFormat {
  static final String NAME = "protobuf";
  static final String PREFIX = "protobuf.";
  static final String FILE = PREFIX + "descriptor.file";
  static final String CONTENT = PREFIX + "descriptor";
  static final String MESSAGE = PREFIX + "message";

  private final StructType columns;
  private final String descriptor;
  private final String message;
  private final ProtobufSubject subject;

  ProtobufFormat(StructType columns, Map<String, String> tableOptions) {
    this.columns = columns;
    this.descriptor = OptionMaps.get(tableOptions, CONTENT);
    this.message = OptionMaps.get(tableOptions, MESSAGE);
    this.subject = ProtobufSubject.ofValues(tableOptions);
  }

  /** Returns whether options, with names in lower case or not, are those of a Protobuf table. */
  static boolean isChosen(Map<String, String> tableOptions) {
    return NAME.equalsIgnoreCase(OptionMaps.get(tableOptions, "value.format"));
  }

  /** Returns whether a table has a descriptor, and no schema registry. */
  static boolean hasDescriptor(Map<String, String> tableOptions) {
    return isChosen(tableOptions)
        && !RegistryOptions.hasRegistry(tableOptions, SchemaType.PROTOBUF);
  }

  /** Returns the content of the descriptor. Throws IllegalArgumentException. */
  static String content(Map<String, String> tableOptions) {
    String file = OptionMaps.get(tableOptions, FILE);
    return file == null
        ? OptionMaps.get(tableOptions, CONTENT)
        : ProtobufSchema.read(file, OptionMaps.get(tableOptions, MESSAGE));
  }

  /** Returns the type of the table's messages. Throws IllegalArgumentException. */
  static ProtobufSchema schema(Map<String, String> tableOptions) {
    return ProtobufSchema.of(content(tableOptions), OptionMaps.get(tableOptions, MESSAGE));
  }

  private ProtobufRows rows() {
    return new ProtobufRows(descriptor, message, columns);
  }

  /** Returns the columns as a struct, or NULL if the bytes are not a message of the type. */
  Column parse(Column bytes) {
    UDF1<byte[], Row> reader =
        subject != null ? subject.messages(columns).reader() : rows().reader();
    return functions.udf(reader, columns).apply(bytes);
  }

  /** Returns the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    UDF1<byte[], String> reason =
        subject != null ? subject.messages(columns).reason() : rows().reason();
    return coalesce(
        functions.udf(reason, DataTypes.StringType).apply(bytes),
        lit(
            message == null
                ? "it is not valid"
                : "it is not a valid message of the type " + message));
  }

  /** Returns the bytes of a row's values, which are in the order of the columns. */
  Column encode(Column[] values) {
    if (subject == null) return encode(values, ProtobufSchema.of(descriptor, message));
    ProtobufSubject.Writer writer = subject.writer(columns);
    byte[] header = WireFormat.header(writer.id());
    return concat(lit(header), lit(writer.schema().indexes()), encode(values, writer.schema()));
  }

  private Column encode(Column[] values, ProtobufSchema schema) {
    String missing = schema.requiredWithout(columns);
    if (missing != null) {
      throw Exceptions.raise(
          JetSqlException.of(
              "SINK_NOT_READY",
              "42501",
              "The message "
                  + schema.name()
                  + " requires the field "
                  + missing
                  + ", for which there is no column. Create the table with this column."));
    }
    Column[] cast = new Column[values.length];
    for (int i = 0; i < values.length; i++)
      cast[i] = values[i].cast(columns.apply(i).dataType()).as(columns.apply(i).name());
    var rows = new ProtobufRows(schema.content(), schema.name(), columns);
    return functions.udf(rows.writer(), DataTypes.BinaryType).apply(struct(cast));
  }
}
