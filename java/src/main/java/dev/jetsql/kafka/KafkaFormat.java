package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.to_csv;
import static org.apache.spark.sql.functions.when;

import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.records.CsvRecords;
import dev.jetsql.records.JsonRecords;
import dev.jetsql.records.JsonText;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.YearMonthIntervalType;

/**
 * Converts between columns and the bytes of a message's key or value with Spark's own functions:
 * json, csv, avro or raw; values also protobuf, debezium-json and debezium-avro.
 *
 * <p>Parsing returns a struct of the columns. For json, csv and Debezium's formats it has
 * additional fields; one of them is set if the bytes do not fit the columns.
 */
final class KafkaFormat {
  // By default Spark writes only three digits of a second.
  private static final String TIMESTAMP = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX";
  private static final String KEY_ZONE = "UTC";
  private static final String TIMESTAMP_NTZ = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS";

  private final String name;
  private final StructType columns;
  private final Map<String, String> options;
  private final AvroSubject subject;
  private final Map<String, String> tableOptions;
  private final JsonSubject registered;
  private final String zone;

  /**
   * Creates a format. Its options are the table's options that begin with its name, such as
   * `json.timestampFormat`; debezium-json has those of json.
   *
   * @param zone the time zone of the session that reads messages
   */
  KafkaFormat(String name, StructType columns, Map<String, String> tableOptions, String zone) {
    this(
        name,
        columns,
        tableOptions,
        zone,
        needsAvro(name) ? AvroSubject.ofValues(tableOptions) : null,
        name.equalsIgnoreCase("json") ? JsonSubject.ofValues(tableOptions) : null);
  }

  private KafkaFormat(
      String name,
      StructType columns,
      Map<String, String> tableOptions,
      String zone,
      AvroSubject subject,
      JsonSubject registered) {
    this.zone = zone;
    this.subject = subject;
    this.registered = registered;
    this.tableOptions = tableOptions;
    this.name = name.toLowerCase(Locale.ROOT);
    this.columns = columns;
    this.options = new HashMap<>();
    String prefix = this.name.equals(DebeziumFormat.NAME) ? "json." : this.name + ".";
    tableOptions.forEach(
        (key, value) -> {
          String lower = key.toLowerCase(Locale.ROOT);
          boolean isRegistry = RegistryOptions.type(lower) != null; // may be secret
          if (lower.startsWith(prefix) && !isRegistry)
            options.put(key.substring(prefix.length()), value);
        });
  }

  /**
   * Creates a format of keys, in which equal values have equal bytes in every time zone. The
   * table's Avro schema is that of the value and does not apply.
   */
  static KafkaFormat ofKeys(String name, StructType columns, Map<String, String> tableOptions) {
    AvroSubject subject = isAvro(name) ? AvroSubject.ofKeys(tableOptions) : null;
    KafkaFormat format = new KafkaFormat(name, columns, tableOptions, KEY_ZONE, subject, null);
    OptionMaps.remove(format.options, AvroFormat.SCHEMA);
    OptionMaps.remove(format.options, AvroFormat.SCHEMA_ID);
    format.options.putIfAbsent("timeZone", KEY_ZONE);
    return format;
  }

  private static boolean isAvro(String name) {
    return name.equalsIgnoreCase("avro");
  }

  /** Returns whether a format needs Spark's Avro module and can use a schema registry. */
  static boolean needsAvro(String name) {
    return "avro".equalsIgnoreCase(name) || DebeziumAvroFormat.NAME.equalsIgnoreCase(name);
  }

  /** Returns whether values of the type can be cast to text and back. */
  static boolean isText(DataType type) {
    return !(type instanceof ArrayType
        || type instanceof MapType
        || type instanceof StructType
        || type instanceof DayTimeIntervalType
        || type instanceof YearMonthIntervalType);
  }

  /**
   * Returns the reason why a format does not support a column, as the predicate of a sentence, or
   * null if it does.
   */
  static String whyUnsupported(String format, DataType type) {
    return switch (format.toLowerCase(Locale.ROOT)) {
      case "raw" -> isText(type) ? null : "cannot be cast to text";
      case "csv" ->
          isText(type) && !type.equals(DataTypes.BinaryType) ? null : "cannot be written as csv";
      case "json", DebeziumFormat.NAME -> whyNotInJson(type);
      default -> null;
    };
  }

  private static String whyNotInJson(DataType type) {
    if (type instanceof ArrayType array) return whyNotInJson(array.elementType());
    if (type instanceof MapType map) {
      return map.keyType() instanceof StringType
          ? whyNotInJson(map.valueType())
          : "has a MAP whose keys are not STRING";
    }
    if (!(type instanceof StructType struct)) return null;
    for (StructField field : struct.fields()) {
      String reason = whyNotInJson(field.dataType());
      if (reason != null) return reason;
    }
    return null;
  }

  /**
   * Returns the name of a field in the spelling of the struct, or null if the struct has no such
   * field.
   */
  static String fieldName(StructType fields, String name) {
    for (String field : fields.fieldNames()) if (field.equalsIgnoreCase(name)) return field;
    return null;
  }

  /** Returns the columns of the bytes as a struct, which is NULL for NULL bytes. */
  Column parse(Column bytes) {
    if (name.equals("raw")) return parseRaw(bytes, columns.apply(0));
    if (name.equals("avro")) return avro().parse(bytes);
    if (name.equals(ProtobufFormat.NAME)) return protobuf().parse(bytes);
    if (name.equals(DebeziumFormat.NAME)) return debezium().parse(bytes);
    if (name.equals(DebeziumAvroFormat.NAME)) return debeziumAvro().parse(bytes);
    if (name.equals("json")) return new JsonRecords(columns, options, zone).parse(body(bytes));
    return new CsvRecords(columns, options, zone).parse(bytes);
  }

  /** Returns the JSON of a message, or NULL if it does not begin as its registry requires. */
  private Column body(Column bytes) {
    return registered == null ? bytes : registered.body(bytes);
  }

  private DebeziumFormat debezium() {
    return new DebeziumFormat(columns, options, zone);
  }

  private DebeziumAvroFormat debeziumAvro() {
    return new DebeziumAvroFormat(columns, subject);
  }

  private ProtobufFormat protobuf() {
    return new ProtobufFormat(columns, tableOptions);
  }

  private AvroFormat avro() {
    return new AvroFormat(columns, options, subject);
  }

  private static Column parseRaw(Column bytes, StructField column) {
    DataType type = column.dataType();
    Column text = bytes.cast(DataTypes.StringType);
    Column value =
        type.equals(DataTypes.BinaryType)
            ? bytes
            : type.equals(DataTypes.StringType) ? text : text.try_cast(type);
    return struct(value.as(column.name()));
  }

  /**
   * Returns whether bytes do not fit the columns; false for NULL bytes.
   *
   * @param row the result of `parse` for these bytes
   */
  Column isBroken(Column bytes, Column row) {
    Column broken =
        switch (name) {
          case "raw" -> row.getField(columns.apply(0).name()).isNull();
          case "csv", "json" -> row.isNull().or(row.getField(JsonRecords.BROKEN).isNotNull());
          case DebeziumFormat.NAME, DebeziumAvroFormat.NAME -> DebeziumChange.isBroken(row);
          default -> row.isNull();
        };
    return bytes.isNotNull().and(broken);
  }

  /** Returns the reason why bytes do not fit, as a text without a full stop. */
  Column reason(Column bytes) {
    return switch (name) {
      case "avro" -> avro().reason(bytes);
      case ProtobufFormat.NAME -> protobuf().reason(bytes);
      case "json" -> reasonInJson(bytes);
      case DebeziumFormat.NAME -> debezium().reason(bytes);
      case DebeziumAvroFormat.NAME -> debeziumAvro().reason(bytes);
      case "raw" -> lit("it is not of type " + columns.apply(0).dataType().sql());
      case "csv" -> new CsvRecords(columns, options, zone).reason(bytes);
      default -> lit("it is not valid " + name + " for these columns");
    };
  }

  private Column reasonInJson(Column bytes) {
    Column reason = new JsonRecords(columns, options, zone).reason(body(bytes));
    return registered == null ? reason : coalesce(registered.reason(bytes), reason);
  }

  /**
   * Returns the bytes of a row's values, which are in the order of the columns.
   *
   * @param zone the time zone of the session that writes
   */
  Column encode(Column[] values, String zone) {
    return switch (name) {
      case "raw" -> encodeRaw(values[0]);
      case "avro" -> avro().encode(values);
      case ProtobufFormat.NAME -> protobuf().encode(values);
      case "csv" -> to_csv(struct(values), writerOptions()).cast(DataTypes.BinaryType);
      default -> withHeader(JsonText.of(struct(values), writerOptions(), zone));
    };
  }

  private Column withHeader(Column bytes) {
    return registered == null ? bytes : concat(lit(registered.header(columns)), bytes);
  }

  /**
   * Returns the bytes of a change in one of Debezium's formats.
   *
   * @param isDeleted whether the change is a deletion
   * @param op the operation of any other change
   * @param zone the time zone of the session that writes
   */
  Column encodeChange(Column[] values, Column isDeleted, String op, String zone) {
    return name.equals(DebeziumAvroFormat.NAME)
        ? debeziumAvro().encode(values, isDeleted, op)
        : debezium().encode(struct(values), isDeleted, op, writerOptions(), zone);
  }

  private Column encodeRaw(Column value) {
    DataType type = columns.apply(0).dataType();
    if (type.equals(DataTypes.BinaryType)) return value;
    Column text =
        type.equals(DataTypes.TimestampType)
            ? encodeInstant(value)
            : value.cast(DataTypes.StringType);
    return text.cast(DataTypes.BinaryType);
  }

  private Map<String, String> writerOptions() {
    Map<String, String> formatOptions = new HashMap<>(options);
    formatOptions.putIfAbsent("timestampFormat", TIMESTAMP);
    formatOptions.putIfAbsent("timestampNTZFormat", TIMESTAMP_NTZ);
    return formatOptions;
  }

  /**
   * Returns a timestamp as text in UTC with the zone. Without the zone, a session in another time
   * zone would read another time.
   */
  private static Column encodeInstant(Column value) {
    Map<String, String> utc = Map.of("timestampFormat", TIMESTAMP, "timeZone", "UTC");
    return when(value.isNotNull(), to_csv(struct(value), utc));
  }
}
