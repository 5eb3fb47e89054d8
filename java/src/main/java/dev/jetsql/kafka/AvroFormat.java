package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.call_function;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.substring;
import static org.apache.spark.sql.functions.when;

import dev.jetsql.kafka.registry.RegisteredRecords;
import dev.jetsql.kafka.registry.WireFormat;
import dev.jetsql.records.AvroRecords;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Converts between columns and Avro records, with or without the header that clients of a schema
 * registry write.
 */
final class AvroFormat {
  static final String SCHEMA = "schema";
  static final String SCHEMA_ID = "schema.id";
  private static final String EVOLVED_SCHEMA = "avroSchema";
  private static final String READ = "__jetsql_read";
  private static final String MAYBE_REGISTERED =
      " (if a client of a schema registry wrote it, set the option 'avro.schema.registry.url', or"
          + " set the option 'avro.schema.id')";

  private final StructType columns;
  private final Map<String, String> options;
  private final AvroSubject subject;

  /**
   * @param columns the columns of the table that are in the record
   * @param options the table's options that begin with `avro.`, without this prefix
   * @param subject the subject in a schema registry; null without a registry
   */
  AvroFormat(StructType columns, Map<String, String> options, AvroSubject subject) {
    this.columns = columns;
    this.options = options;
    this.subject = subject;
  }

  /**
   * Returns the Spark fields of an Avro schema, which must be a record. Throws Avro's errors for an
   * invalid schema.
   */
  static StructType fields(String schema) {
    Schema parsed = new Schema.Parser().parse(schema);
    if (SchemaConverters.toSqlType(parsed).dataType() instanceof StructType fields) return fields;
    throw new IllegalArgumentException("it is not a record");
  }

  /**
   * Returns the columns as a struct. Each column is cast from the field with its name; the order of
   * the fields does not matter.
   */
  Column parse(Column bytes) {
    String schema = readerSchema();
    Column record = record(bytes, schema);
    Column parsed = call_function("from_avro", record, lit(schema), readerOptions(schema));
    StructType fields = fields(schema);
    List<Column> members = new ArrayList<>();
    for (StructField column : columns.fields()) {
      String field = KafkaFormat.fieldName(fields, column.name());
      Column value = field == null ? lit(null) : parsed.getField(field);
      members.add(value.cast(column.dataType()).as(column.name()));
    }
    return when(parsed.getField(READ), struct(members.toArray(Column[]::new)));
  }

  /**
   * Returns the record of a message, or NULL if the message has another header than expected, or
   * bytes after its record.
   */
  private Column record(Column bytes, String schema) {
    if (subject != null) {
      var records = new RegisteredRecords(subject.registry(), schema);
      return functions.udf(records.converter(), DataTypes.BinaryType).apply(bytes);
    }
    Column record = withoutHeader(bytes);
    return when(new AvroRecords(schema).hasMoreBytes(record).equalTo(false), record);
  }

  private Column withoutHeader(Column bytes) {
    byte[] header = header();
    return header.length == 0
        ? bytes
        : when(
            headerOf(bytes).equalTo(lit(header)),
            substring(bytes, header.length + 1, Integer.MAX_VALUE));
  }

  /** Returns the bytes of a row's values, which are in the order of the columns. */
  Column encode(Column[] values) {
    if (subject != null) {
      AvroSubject.Writer writer = subject.writer(columns, OptionMaps.get(options, SCHEMA));
      return encode(values, writer.schema().toString(), WireFormat.header(writer.id()));
    }
    return encode(values, schema(), header());
  }

  private Column encode(Column[] values, String schema, byte[] header) {
    Column record = call_function("to_avro", row(values, columns, fields(schema)), lit(schema));
    return concat(lit(header), record);
  }

  /**
   * Returns the struct of a record's fields. Each field is cast from the column with its name, and
   * is NULL without one.
   *
   * @param values the values in the order of the columns
   */
  static Column row(Column[] values, StructType columns, StructType fields) {
    List<Column> members = new ArrayList<>();
    for (StructField field : fields.fields()) {
      Column value = lit(null);
      for (int i = 0; i < columns.length(); i++) {
        if (columns.apply(i).name().equalsIgnoreCase(field.name())) value = values[i];
      }
      members.add(value.cast(field.dataType()).as(field.name()));
    }
    return struct(members.toArray(Column[]::new));
  }

  /** Returns the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    Column reason = lit("it is not valid avro for these columns");
    if (subject != null) {
      var records = new RegisteredRecords(subject.registry(), readerSchema());
      Column mismatch = functions.udf(records.reason(), DataTypes.StringType).apply(bytes);
      return coalesce(mismatch, reason);
    }
    Column hasMore = new AvroRecords(schema()).hasMoreBytes(withoutHeader(bytes));
    reason = when(hasMore, AvroRecords.MORE_BYTES).otherwise(reason);
    byte[] header = header();
    if (header.length == 0) {
      Column zero = substring(bytes, 1, 1).equalTo(lit(new byte[1]));
      return concat(reason, when(zero, MAYBE_REGISTERED).otherwise(""));
    }
    return when(headerOf(bytes).equalTo(lit(header)), reason)
        .otherwise(lit("it does not begin with the schema id of the option 'avro.schema.id'"));
  }

  /**
   * Returns the header that clients of a schema registry write before a record: a zero byte, and
   * the schema id in four bytes.
   */
  private byte[] header() {
    String id = OptionMaps.get(options, SCHEMA_ID);
    if (id == null) return new byte[0];
    return WireFormat.header(Integer.parseInt(id));
  }

  private static Column headerOf(Column bytes) {
    return substring(bytes, 1, WireFormat.HEADER_BYTES);
  }

  /** Returns the schema of the records that `from_avro` reads. */
  private String readerSchema() {
    return subject == null
        ? schema()
        : subject.readerSchema(columns, OptionMaps.get(options, SCHEMA)).toString();
  }

  /** Returns the schema in the options, or the one that Spark derives from the columns. */
  private String schema() {
    String schema = OptionMaps.get(options, SCHEMA);
    return schema != null ? schema : derivedSchema(columns).toString();
  }

  /** Returns the schema that Spark derives from columns. */
  static Schema derivedSchema(StructType columns) {
    return SchemaConverters.toAvroType(columns, false, "topLevelRecord", "");
  }

  /** Returns the options of `from_avro` as a map expression. */
  private Column readerOptions(String schema) {
    Map<String, String> readerOptions = new HashMap<>(options);
    readerOptions.put("mode", "PERMISSIVE");
    String evolved = OptionMaps.find(readerOptions, EVOLVED_SCHEMA);
    if (evolved == null) readerOptions.put(EVOLVED_SCHEMA, withReadField(schema));
    else readerOptions.put(evolved, withReadField(readerOptions.get(evolved)));
    List<Column> pairs = new ArrayList<>();
    readerOptions.forEach(
        (name, value) -> {
          if (name.equalsIgnoreCase(SCHEMA) || name.equalsIgnoreCase(SCHEMA_ID)) return;
          pairs.add(lit(name));
          pairs.add(lit(value));
        });
    return functions.map(pairs.toArray(Column[]::new));
  }

  /**
   * Returns the schema with an additional field, which is absent from all messages and has a
   * default value. It distinguishes a record whose fields are all NULL from bytes that are not a
   * record.
   */
  private static String withReadField(String schema) {
    Schema original = new Schema.Parser().parse(schema);
    List<Schema.Field> fields = new ArrayList<>();
    for (Schema.Field field : original.getFields())
      fields.add(new Schema.Field(field, field.schema()));
    fields.add(new Schema.Field(READ, Schema.create(Schema.Type.BOOLEAN), null, true));
    return Schema.createRecord(
            original.getName(),
            original.getDoc(),
            original.getNamespace(),
            original.isError(),
            fields)
        .toString();
  }
}
