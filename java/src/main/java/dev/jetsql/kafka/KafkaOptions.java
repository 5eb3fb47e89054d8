package dev.jetsql.kafka;

import static dev.jetsql.kafka.KafkaOptionErrors.invalid;
import static dev.jetsql.kafka.KafkaOptionErrors.notChangeable;

import dev.jetsql.common.OptionPositions;
import dev.jetsql.connections.Connections;
import dev.jetsql.kafka.protobuf.ProtobufSchema;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.SchemaType;
import dev.jetsql.records.OnError;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Checks the OPTIONS of a Kafka table and reports the first error at its position in the statement.
 * Spark would report an invalid option only when a job runs, or ignore it.
 */
public final class KafkaOptions {
  private static final List<String> SOURCES =
      List.of("topic", "subscribe", "subscribepattern", "assign");
  private static final List<String> REQUIRE_COLUMNS =
      List.of("key.format", "key.columns", "on.error", "watermark");

  private static final List<String> SCHEMAS =
      List.of(
          RegistryOptions.option(SchemaType.AVRO, RegistryOptions.URL),
          RegistryOptions.option(SchemaType.PROTOBUF, RegistryOptions.URL),
          ProtobufFormat.FILE,
          ProtobufFormat.CONTENT);

  /** An option that Spark itself adds to the relations of a statement. */
  private static final String PRIVILEGES = UnresolvedRelation$.MODULE$.REQUIRED_WRITE_PRIVILEGES();

  private final StructType columns;
  private final KafkaOptionValues valueChecks;
  private final Map<String, String> values = new HashMap<>();
  private final Map<String, Origin> origins = new HashMap<>();

  private KafkaOptions(StructType columns, KafkaOptionValues valueChecks) {
    this.columns = columns;
    this.valueChecks = valueChecks;
  }

  /** Checks the options of a CREATE TABLE. The columns are null if a query defines them. */
  static void check(UnresolvedTableSpec spec, StructType columns) {
    var given = CollectionConverters.asJava(spec.optionExpression().options());
    boolean fromSchema =
        columns != null
            && columns.length() == 0
            && given.stream()
                .anyMatch(option -> SCHEMAS.contains(option._1().toLowerCase(Locale.ROOT)));
    // The columns of a schema are checked when the table is created.
    StructType known = fromSchema ? null : columns;
    KafkaOptions options = new KafkaOptions(known, new KafkaOptionValues(known));
    for (var option : given) options.add(option._1(), option._2());
    options.addConnection();
    options.checkTogether();
  }

  /**
   * Checks the options of a table whose columns a query has defined. The positions of the options
   * are no longer known.
   */
  static void check(Map<String, String> tableOptions, StructType columns) {
    KafkaOptions options = new KafkaOptions(columns, new KafkaOptionValues(columns));
    tableOptions.forEach(
        (name, value) -> {
          String key = name.toLowerCase(Locale.ROOT);
          options.values.put(key, value);
          options.valueChecks.check(name, key, value, null);
        });
    options.addConnection();
    options.checkTogether();
  }

  /**
   * Checks the options that a query gives for a table, `WITH (...)`.
   *
   * @param relation the position of the table in the query
   */
  public static void checkQuery(
      Origin relation, Map<String, String> options, KafkaTable table, boolean streaming) {
    KafkaOptionValues valueChecks = new KafkaOptionValues(null);
    for (Map.Entry<String, String> option : options.entrySet()) {
      String name = option.getKey();
      String key = name.toLowerCase(Locale.ROOT);
      if (key.equals(PRIVILEGES)) continue;
      checkChangeable(OptionPositions.after(relation, name, null), name, table, streaming);
      Origin origin = OptionPositions.after(relation, name, option.getValue());
      if (key.equals("on.error")) {
        KafkaOptionValues.checkOneOf(name, option.getValue(), OnError.OF_QUERY, origin);
      }
      valueChecks.check(name, key, option.getValue(), origin);
    }
  }

  /** Throws the error of an option of a connection, as of one in a table. */
  public static void checkOfConnection(String name, String value) {
    String key = name.toLowerCase(Locale.ROOT);
    if (KafkaOption.isRefused(key)) throw KafkaOptionErrors.fixed(null, name);
    if (!KafkaOptionNames.isKnown(key)) throw KafkaOptionErrors.unknown(null, name);
    new KafkaOptionValues(null).check(name, key, value, null);
  }

  private static void checkChangeable(
      Origin origin, String name, KafkaTable table, boolean streaming) {
    String key = name.toLowerCase(Locale.ROOT);
    if (KafkaOption.isRefused(key)) throw KafkaOptionErrors.fixed(origin, name);
    KafkaOption option = KafkaOption.of(key);
    if ((option != null && option.isOfTable()) || RegistryOptions.isHeader(key)) {
      throw notChangeable(
          origin,
          "Cannot set '"
              + name
              + "' in a query: it defines the table "
              + table.name()
              + ". Create another table with this option.");
    }
    if (!KafkaOptionNames.isKnown(key)) throw KafkaOptionErrors.unknown(origin, name);
    boolean isStreamErrors = streaming && key.equals("on.error");
    if (isStreamErrors && new KafkaTable(null, table.catalogTable(), Map.of()).hasDeadLetters()) {
      throw notChangeable(
          origin,
          "Cannot set 'on.error' in a query: the dead letters of the table "
              + table.name()
              + " are kept for each job that reads it. Create another table with this option.");
    }
  }

  /** Refuses options for the table of an INSERT, which Spark would ignore. */
  public static void refuseWithInsert(
      Origin relation, Map<String, String> options, KafkaTable table) {
    Map<String, String> insertOptions = new HashMap<>(options);
    insertOptions.remove(PRIVILEGES);
    if (insertOptions.isEmpty()) return;
    String name = insertOptions.keySet().iterator().next();
    throw notChangeable(
        OptionPositions.after(relation, name, null),
        "Cannot set options of the Kafka table "
            + table.name()
            + " in an INSERT. Set them in its CREATE TABLE.");
  }

  private void add(String name, Expression value) {
    String key = name.toLowerCase(Locale.ROOT);
    Origin origin = value.origin();
    Origin nameOrigin = OptionPositions.ofKey(origin, name);
    if (values.containsKey(key)) throw KafkaOptionErrors.duplicate(nameOrigin, name);
    if (KafkaOption.isRefused(key)) throw KafkaOptionErrors.fixed(nameOrigin, name);
    if (!KafkaOptionNames.isKnown(key)) throw KafkaOptionErrors.unknown(nameOrigin, name);
    if (!(value instanceof Literal literal) || literal.value() == null) {
      throw invalid(origin, "The value of '" + name + "' must be a string, a number or a boolean.");
    }
    String text = String.valueOf(literal.value());
    values.put(key, text);
    origins.put(key, origin);
    valueChecks.check(name, key, text, origin);
  }

  /** Adds the options of the connections that the table names. */
  private void addConnection() {
    if (!Connections.isUsed(values)) return;
    Map<String, String> merged = Connections.merged("kafka", values);
    if (merged == values) return; // in a process that connects to no system
    values.clear();
    merged.forEach((name, value) -> values.put(name.toLowerCase(Locale.ROOT), value));
  }

  private void checkTogether() {
    RegistryOptions.warnOfClearCredentials(values);
    boolean hasConnection = Connections.isUsed(values);
    if (!hasConnection && !values.containsKey("kafka.bootstrap.servers")) {
      throw invalid(
          null,
          "A Kafka table needs the option 'kafka.bootstrap.servers': the addresses of its brokers,"
              + " HOST:PORT. Or write 'connection' with the name of a connection.");
    }
    if (SOURCES.stream().filter(values::containsKey).count() != 1) {
      throw invalid(
          null,
          "A Kafka table needs the option 'topic' or, to read several topics, one of 'subscribe',"
              + " 'subscribePattern' and 'assign' instead.");
    }
    checkRegistry();
    checkProtobuf();
    if (columns == null) return;
    if (values.containsKey("value.format")) checkFormats();
    else checkWithoutFormat();
  }

  private void checkRegistry() {
    for (String key : values.keySet()) {
      SchemaType type = RegistryOptions.type(key);
      if (type == null) continue;
      if (Connections.isName(key)) continue;
      checkNeeds(key, RegistryOptions.option(type, RegistryOptions.URL));
      String formats = whyUnused(type);
      if (formats != null) {
        throw invalid(
            origins.get(key), "The option '" + key + "' is for tables with " + formats + ".");
      }
      if (RegistryOptions.name(key).equals(RegistryOptions.TRUST_PASSWORD))
        checkNeeds(key, RegistryOptions.option(type, RegistryOptions.TRUST_STORE));
    }
    checkDebeziumAvro();
    String url = RegistryOptions.option(SchemaType.AVRO, RegistryOptions.URL);
    if (values.containsKey(url) && values.containsKey("avro.schema.id")) {
      throw invalid(
          origins.get("avro.schema.id"),
          "Set either 'avro.schema.id' or '"
              + url
              + "', which finds each message's schema by its id.");
    }
  }

  private void checkNeeds(String key, String needed) {
    if (values.containsKey(needed)) return;
    throw invalid(origins.get(key), "The option '" + key + "' needs '" + needed + "' as well.");
  }

  /** Returns the formats that a registry's schemas are for, or null if the table has one. */
  private String whyUnused(SchemaType type) {
    String format = values.get("value.format");
    boolean isUsed =
        type == SchemaType.AVRO
            ? KafkaFormat.needsAvro(format) || KafkaFormat.needsAvro(values.get("key.format"))
            : type.format().equalsIgnoreCase(format);
    if (isUsed) return null;
    String formats = "'value.format' = '" + type.format() + "'";
    return type == SchemaType.AVRO ? formats + " or 'debezium-avro'" : formats;
  }

  private void checkDebeziumAvro() {
    if (!DebeziumAvroFormat.NAME.equalsIgnoreCase(values.get("value.format"))) return;
    if (!values.containsKey(RegistryOptions.option(SchemaType.AVRO, RegistryOptions.URL))) {
      throw invalid(
          origins.get("value.format"),
          "A table with 'value.format' = 'debezium-avro' needs the option"
              + " 'avro.schema.registry.url' as well: the schema registry that Debezium writes"
              + " to.");
    }
    for (String key : values.keySet()) {
      boolean isOfValue = key.equals("avro.schema") || key.equals("avro.schema.id");
      boolean isOfKey = "avro".equalsIgnoreCase(values.get("key.format")) && !isOfValue;
      if (!key.startsWith("avro.") || RegistryOptions.type(key) != null || isOfKey) continue;
      throw invalid(
          origins.get(key),
          "The option '"
              + key
              + "' is for tables with 'value.format' = 'avro'. Leave it out: 'debezium-avro' takes"
              + " the schemas from the schema registry.");
    }
  }

  /** Checks the options of Protobuf, and the columns against the message. */
  private void checkProtobuf() {
    boolean isProtobuf = ProtobufFormat.isChosen(values);
    for (String key : values.keySet()) {
      if (isProtobuf || !key.startsWith(ProtobufFormat.PREFIX)) continue;
      throw invalid(
          origins.get(key),
          "The option '" + key + "' is for tables with 'value.format' = 'protobuf'.");
    }
    if (!isProtobuf) return;
    if (values.containsKey(RegistryOptions.option(SchemaType.PROTOBUF, RegistryOptions.URL))) {
      checkWithoutDescriptor();
      return;
    }
    boolean isFile = values.containsKey(ProtobufFormat.FILE);
    boolean isNamed = values.containsKey(ProtobufFormat.MESSAGE);
    if (!isNamed || isFile == values.containsKey(ProtobufFormat.CONTENT)) {
      throw invalid(
          origins.get("value.format"),
          "A Kafka table with 'value.format' = 'protobuf' needs 'protobuf.message', the full name"
              + " of a message, and either 'protobuf.descriptor.file' or 'protobuf.descriptor'."
              + " With a schema registry, it needs 'protobuf.schema.registry.url' instead.");
    }
    String option = isFile ? ProtobufFormat.FILE : ProtobufFormat.CONTENT;
    try {
      ProtobufSchema schema = ProtobufFormat.schema(values);
      if (columns == null) schema.columns();
      else checkColumns(schema);
    } catch (IllegalArgumentException e) {
      throw invalid(origins.get(option), "Cannot use '" + option + "': " + e.getMessage() + ".");
    }
  }

  private void checkWithoutDescriptor() {
    for (String key : List.of(ProtobufFormat.FILE, ProtobufFormat.CONTENT)) {
      if (!values.containsKey(key)) continue;
      throw invalid(
          origins.get(key),
          "Set either '"
              + key
              + "' or 'protobuf.schema.registry.url', which finds each message's schema by its"
              + " id.");
    }
  }

  private void checkColumns(ProtobufSchema schema) {
    for (StructField column : columns.fields()) {
      String reason = schema.whyUnfit(column);
      if (reason != null) throw invalid(origins.get(ProtobufFormat.MESSAGE), reason);
    }
  }

  private void checkFormats() {
    if (columns.length() == 0) {
      throw invalid(
          origins.get("value.format"),
          "A Kafka table with 'value.format' needs its"
              + " columns in the statement: CREATE TABLE t (id BIGINT, ...) USING kafka ...");
    }
    if (isRaw(values.get("value.format")) && columns.length() - keyColumns().size() != 1) {
      throw invalid(
          origins.get("value.format"),
          "With 'value.format' = 'raw' the value is one"
              + " column: name all others in 'key.columns'.");
    }
    checkTypes();
  }

  private void checkWithoutFormat() {
    if (columns.length() > 0 && !areKafkaColumns(columns)) {
      throw invalid(
          null,
          "A Kafka table with columns of its own needs the option 'value.format': 'json', 'csv',"
              + " 'avro', 'protobuf', 'raw', 'debezium-json' or 'debezium-avro'. Without columns it"
              + " has Kafka's: key, value, topic, partition, offset, timestamp, timestampType.");
    }
    for (String option : REQUIRE_COLUMNS) {
      if (!values.containsKey(option)) continue;
      throw invalid(
          origins.get(option),
          "The option '"
              + option
              + "' is for tables with"
              + " columns of their own and 'value.format'.");
    }
  }

  /** Checks that the formats of value and key support their columns. */
  private void checkTypes() {
    String value = values.get("value.format");
    String key = values.get("key.format");
    List<String> keyColumns = keyColumns();
    for (StructField column : columns.fields()) {
      boolean isKey = contains(keyColumns, column.name());
      if (!isRaw(value) || !isKey) checkType("value.format", value, column);
      if (isKey)
        checkType(key == null ? "key.columns" : "key.format", key != null ? key : "json", column);
    }
    if (isRaw(key) && keyColumns.size() > 1) {
      throw invalid(origins.get("key.format"), "With 'key.format' = 'raw' the key is one column.");
    }
  }

  private void checkType(String option, String format, StructField column) {
    String reason = KafkaFormat.whyUnsupported(format, column.dataType());
    if (reason == null) return;
    throw invalid(
        origins.get(option),
        "The column "
            + column.name()
            + " ("
            + column.dataType().sql()
            + ") "
            + reason
            + ". Use 'json' or 'avro', or another type.");
  }

  private List<String> keyColumns() {
    return KafkaTable.columnList(values.get("key.columns"));
  }

  private static boolean isRaw(String format) {
    return "raw".equalsIgnoreCase(format);
  }

  /** Returns whether all columns are Kafka's own fields, as in the output of SHOW CREATE TABLE. */
  private static boolean areKafkaColumns(StructType columns) {
    StructType kafkaColumns = KafkaTable.MESSAGE_WITH_HEADERS;
    for (StructField column : columns.fields()) {
      String name = column.name();
      if (!contains(List.of(kafkaColumns.fieldNames()), name)) return false;
      if (!name.equals("headers") && !kafkaColumns.apply(name).dataType().equals(column.dataType()))
        return false;
    }
    return true;
  }

  /** Returns whether a name is in a list, in any case. */
  static boolean contains(List<String> names, String name) {
    return names.stream().anyMatch(name::equalsIgnoreCase);
  }
}
