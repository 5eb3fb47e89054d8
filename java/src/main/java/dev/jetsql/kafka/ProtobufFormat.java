package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.protobuf.ProtobufRows;
import dev.jetsql.kafka.protobuf.ProtobufSchema;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Converts between columns and Protobuf messages, and has the options of a table for them.
 *
 * <p>CREATE TABLE reads the descriptor file and keeps its content in the table, so that a later
 * change of the file does not change the rows of a job.
 */
final class ProtobufFormat {
  static final String NAME = "protobuf";
  static final String PREFIX = "protobuf.";
  static final String FILE = PREFIX + "descriptor.file";
  static final String CONTENT = PREFIX + "descriptor";
  static final String MESSAGE = PREFIX + "message";
  static final List<String> NAMES = List.of(FILE, CONTENT, MESSAGE);

  private final StructType columns;
  private final String descriptor;
  private final String message;

  /**
   * @param options the table's options that begin with `protobuf.`, without this prefix
   */
  ProtobufFormat(StructType columns, Map<String, String> options) {
    this.columns = columns;
    this.descriptor = OptionMaps.get(options, CONTENT.substring(PREFIX.length()));
    this.message = OptionMaps.get(options, MESSAGE.substring(PREFIX.length()));
  }

  /** Returns whether options, with names in lower case or not, are those of a Protobuf table. */
  static boolean isChosen(Map<String, String> tableOptions) {
    return NAME.equalsIgnoreCase(OptionMaps.get(tableOptions, "value.format"));
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
    return functions.udf(rows().reader(), columns).apply(bytes);
  }

  /** Returns the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    Column reason = functions.udf(rows().reason(), DataTypes.StringType).apply(bytes);
    return coalesce(reason, lit("it is not a valid message of the type " + message));
  }

  /** Returns the bytes of a row's values, which are in the order of the columns. */
  Column encode(Column[] values) {
    String missing = ProtobufSchema.of(descriptor, message).requiredWithout(columns);
    if (missing != null) {
      throw Exceptions.raise(
          JetSqlException.of(
              "SINK_NOT_READY",
              "42501",
              "The message "
                  + message
                  + " requires the field "
                  + missing
                  + ", for which there is no column. Create the table with this column."));
    }
    Column[] cast = new Column[values.length];
    for (int i = 0; i < values.length; i++)
      cast[i] = values[i].cast(columns.apply(i).dataType()).as(columns.apply(i).name());
    return functions.udf(rows().writer(), DataTypes.BinaryType).apply(struct(cast));
  }
}
