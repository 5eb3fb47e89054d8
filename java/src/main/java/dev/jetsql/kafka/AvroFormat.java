package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.call_function;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.substring;
import static org.apache.spark.sql.functions.when;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Convert between columns and Avro records, with or without the header of clients of a schema
 * registry.
 */
final class AvroFormat {
  static final String SCHEMA = "schema";
  static final String SCHEMA_ID = "schema.id";
  private static final String EVOLVED_SCHEMA = "avroSchema";
  private static final String READ = "__jetsql_read";
  private static final int HEADER_BYTES = 5;

  private final StructType columns;
  private final Map<String, String> options;

  /**
   * @param columns the columns of the table that the record has
   * @param options those of the table that begin with `avro.`, without that
   */
  AvroFormat(StructType columns, Map<String, String> options) {
    this.columns = columns;
    this.options = options;
  }

  /**
   * Return the Spark fields of an Avro schema, which must be a record. Raises Avro's errors for
   * what is no schema.
   */
  static StructType fields(String schema) {
    Schema parsed = new Schema.Parser().parse(schema);
    if (SchemaConverters.toSqlType(parsed).dataType() instanceof StructType fields) return fields;
    throw new IllegalArgumentException("it is no record");
  }

  /**
   * Return the columns as a struct, each from the field of its name, whatever the order and types
   * of the fields.
   */
  Column parse(Column bytes) {
    byte[] header = header();
    Column record =
        header.length == 0
            ? bytes
            : when(
                start(bytes).equalTo(lit(header)),
                substring(bytes, header.length + 1, Integer.MAX_VALUE));
    Column parsed = call_function("from_avro", record, lit(schema()), readerOptions());
    StructType fields = fields(schema());
    List<Column> members = new ArrayList<>();
    for (StructField column : columns.fields()) {
      String field = KafkaFormat.fieldName(fields, column.name());
      Column value = field == null ? lit(null) : parsed.getField(field);
      members.add(value.cast(column.dataType()).as(column.name()));
    }
    return when(parsed.getField(READ), struct(members.toArray(Column[]::new)));
  }

  /** Return the bytes of a row's values, which are in the order of the columns. */
  Column encode(Column[] values) {
    List<Column> members = new ArrayList<>();
    for (StructField field : fields(schema()).fields()) {
      Column value = lit(null);
      for (int i = 0; i < columns.length(); i++) {
        if (columns.apply(i).name().equalsIgnoreCase(field.name())) value = values[i];
      }
      members.add(value.cast(field.dataType()).as(field.name()));
    }
    Column record = call_function("to_avro", struct(members.toArray(Column[]::new)), lit(schema()));
    return concat(lit(header()), record);
  }

  /** Return the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    Column reason = lit("it is no avro of these columns");
    byte[] header = header();
    if (header.length == 0) {
      Column zero = substring(bytes, 1, 1).equalTo(lit(new byte[1]));
      return when(
              zero,
              lit(
                  "it is no avro of these columns (should clients of a schema registry have"
                      + " written it, the option 'avro.schema.id' is missing)"))
          .otherwise(reason);
    }
    return when(start(bytes).equalTo(lit(header)), reason)
        .otherwise(
            lit("it does not begin with the number of the schema that 'avro.schema.id' says"));
  }

  /**
   * Return what clients of a schema registry write before a record: a zero, and the schema's number
   * in four bytes.
   */
  private byte[] header() {
    String id = OptionMaps.get(options, SCHEMA_ID);
    if (id == null) return new byte[0];
    return ByteBuffer.allocate(HEADER_BYTES).putInt(1, Integer.parseInt(id)).array();
  }

  private static Column start(Column bytes) {
    return substring(bytes, 1, HEADER_BYTES);
  }

  /** Return the given schema, or the one that Spark makes of the columns. */
  private String schema() {
    String given = OptionMaps.get(options, SCHEMA);
    return given != null
        ? given
        : SchemaConverters.toAvroType(columns, false, "topLevelRecord", "").toString();
  }

  /** Return the options of `from_avro` as a map expression. */
  private Column readerOptions() {
    Map<String, String> given = new HashMap<>(options);
    given.put("mode", "PERMISSIVE");
    String evolved = OptionMaps.find(given, EVOLVED_SCHEMA);
    if (evolved == null) given.put(EVOLVED_SCHEMA, withReadField(schema()));
    else given.put(evolved, withReadField(given.get(evolved)));
    List<Column> pairs = new ArrayList<>();
    given.forEach(
        (name, value) -> {
          if (name.equalsIgnoreCase(SCHEMA) || name.equalsIgnoreCase(SCHEMA_ID)) return;
          pairs.add(lit(name));
          pairs.add(lit(value));
        });
    return functions.map(pairs.toArray(Column[]::new));
  }

  /**
   * Return a schema with one field more, which no message has and every message that is read gets
   * by default. Without it, a record whose fields are all NULL would look like bytes that are no
   * record.
   */
  private static String withReadField(String schema) {
    Schema given = new Schema.Parser().parse(schema);
    List<Schema.Field> fields = new ArrayList<>();
    for (Schema.Field field : given.getFields())
      fields.add(new Schema.Field(field, field.schema()));
    fields.add(new Schema.Field(READ, Schema.create(Schema.Type.BOOLEAN), null, true));
    return Schema.createRecord(
            given.getName(), given.getDoc(), given.getNamespace(), given.isError(), fields)
        .toString();
  }
}
