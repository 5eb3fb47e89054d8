package dev.jetsql.kafka;

import static dev.jetsql.kafka.KafkaOptionErrors.invalid;
import static dev.jetsql.kafka.KafkaOptionErrors.notChangeable;

import dev.jetsql.common.OptionPlaces;
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
 * Check the OPTIONS of a Kafka table and report the first error at its place in the statement.
 * Spark would report a wrong option when a job runs, or never.
 */
public final class KafkaOptions {
  private static final List<String> REFUSED =
      List.of(
          "kafka.key.deserializer",
          "kafka.value.deserializer",
          "kafka.key.serializer",
          "kafka.value.serializer",
          "kafka.auto.offset.reset",
          "kafka.enable.auto.commit",
          "kafka.interceptor.classes",
          "kafka.transactional.id",
          "json.mode",
          "csv.mode",
          "avro.mode",
          "json.columnNameOfCorruptRecord",
          "csv.columnNameOfCorruptRecord");
  // They say what a table is. Jobs, dead letters and requests to the broker go by the table, not by
  // a query.
  private static final List<String> OF_TABLE =
      List.of(
          "topic",
          "subscribe",
          "subscribepattern",
          "assign",
          "kafka.bootstrap.servers",
          "value.format",
          "key.format",
          "key.columns",
          "watermark",
          "includeheaders",
          "avro.schema.id");
  private static final List<String> SOURCES =
      List.of("topic", "subscribe", "subscribepattern", "assign");
  private static final List<String> NEED_COLUMNS =
      List.of("key.format", "key.columns", "on.error", "watermark");

  /** An option that Spark itself adds to the relations of a statement. */
  private static final String PRIVILEGES = UnresolvedRelation$.MODULE$.REQUIRED_WRITE_PRIVILEGES();

  private final StructType columns;
  private final KafkaOptionValues valueChecks;
  private final Map<String, String> values = new HashMap<>();
  private final Map<String, Origin> places = new HashMap<>();

  private KafkaOptions(StructType columns) {
    this.columns = columns;
    this.valueChecks = new KafkaOptionValues(columns);
  }

  /** Check the options of a CREATE TABLE. Its columns are null if a query will define them. */
  static void check(UnresolvedTableSpec spec, StructType columns) {
    KafkaOptions options = new KafkaOptions(columns);
    for (var option : CollectionConverters.asJava(spec.optionExpression().options())) {
      options.add(option._1(), option._2());
    }
    options.checkTogether();
  }

  /**
   * Check the options of a table whose columns a query has defined. Their places are not known any
   * more.
   */
  static void check(Map<String, String> given, StructType columns) {
    KafkaOptions options = new KafkaOptions(columns);
    given.forEach(
        (name, value) -> {
          String key = name.toLowerCase(Locale.ROOT);
          options.values.put(key, value);
          options.valueChecks.check(name, key, value, null);
        });
    options.checkTogether();
  }

  /**
   * Check the options that a query gives for a table, `WITH (...)`.
   *
   * @param relation the place of the table in the query
   */
  public static void checkQuery(
      Origin relation, Map<String, String> given, KafkaTable table, boolean streaming) {
    KafkaOptionValues valueChecks = new KafkaOptionValues(null);
    for (Map.Entry<String, String> option : given.entrySet()) {
      String name = option.getKey();
      String key = name.toLowerCase(Locale.ROOT);
      if (key.equals(PRIVILEGES)) continue;
      checkChangeable(OptionPlaces.after(relation, name, null), name, table, streaming);
      Origin place = OptionPlaces.after(relation, name, option.getValue());
      if (key.equals("on.error")) {
        KafkaOptionValues.checkOneOf(
            name, option.getValue(), List.of("fail", "null", "skip"), place);
      }
      valueChecks.check(name, key, option.getValue(), place);
    }
  }

  private static void checkChangeable(
      Origin place, String name, KafkaTable table, boolean streaming) {
    String key = name.toLowerCase(Locale.ROOT);
    if (contains(REFUSED, key)) throw KafkaOptionErrors.fixed(place, name);
    if (contains(OF_TABLE, key)) {
      throw notChangeable(
          place,
          "'"
              + name
              + "' says what the table "
              + table.name()
              + " is, and can't be given in a query. Make another table for it.");
    }
    if (!KafkaOptionNames.isKnown(key)) throw KafkaOptionErrors.unknown(place, name);
    boolean ofErrors = streaming && key.equals("on.error");
    if (ofErrors && new KafkaTable(null, table.catalogTable(), Map.of()).hasDeadLetters()) {
      throw notChangeable(
          place,
          "The dead letters of the table "
              + table.name()
              + " are kept for each job that reads it: 'on.error' can't be given in a query. Make"
              + " another table for it.");
    }
  }

  /** Refuse the options that an INSERT gives for its table: Spark would ignore them. */
  public static void refuseWithInsert(
      Origin relation, Map<String, String> given, KafkaTable table) {
    Map<String, String> named = new HashMap<>(given);
    named.remove(PRIVILEGES);
    if (named.isEmpty()) return;
    String name = named.keySet().iterator().next();
    throw notChangeable(
        OptionPlaces.after(relation, name, null),
        "Options of the Kafka table "
            + table.name()
            + " can't be given with INSERT: they stand in its CREATE TABLE.");
  }

  private void add(String name, Expression value) {
    String key = name.toLowerCase(Locale.ROOT);
    Origin place = value.origin();
    Origin named = OptionPlaces.ofKey(place, name);
    if (values.containsKey(key)) throw KafkaOptionErrors.duplicate(named, name);
    if (contains(REFUSED, key)) throw KafkaOptionErrors.fixed(named, name);
    if (!KafkaOptionNames.isKnown(key)) throw KafkaOptionErrors.unknown(named, name);
    if (!(value instanceof Literal literal) || literal.value() == null) {
      throw invalid(place, "The value of '" + name + "' must be a text, a number or a boolean.");
    }
    String text = String.valueOf(literal.value());
    values.put(key, text);
    places.put(key, place);
    valueChecks.check(name, key, text, place);
  }

  private void checkTogether() {
    if (!values.containsKey("kafka.bootstrap.servers")) {
      throw invalid(
          null,
          "A Kafka table needs the option 'kafka.bootstrap.servers': where its brokers are,"
              + " HOST:PORT.");
    }
    if (SOURCES.stream().filter(values::containsKey).count() != 1) {
      throw invalid(
          null,
          "A Kafka table needs the option 'topic'; to read several topics, one of 'subscribe',"
              + " 'subscribePattern' and 'assign' instead of it.");
    }
    if (columns == null) return;
    if (values.containsKey("value.format")) checkFormats();
    else checkWithoutFormat();
  }

  private void checkFormats() {
    if (columns.length() == 0) {
      throw invalid(
          places.get("value.format"),
          "A Kafka table with 'value.format' needs its"
              + " columns in the statement: CREATE TABLE t (id BIGINT, ...) USING kafka ...");
    }
    if (isRaw(values.get("value.format")) && columns.length() - keyColumns().size() != 1) {
      throw invalid(
          places.get("value.format"),
          "With 'value.format' = 'raw' the value is one"
              + " column: name all others in 'key.columns'.");
    }
    checkTypes();
  }

  private void checkWithoutFormat() {
    if (columns.length() > 0 && !areKafkasOwn(columns)) {
      throw invalid(
          null,
          "A Kafka table with columns of its own needs the option 'value.format': 'json', 'csv',"
              + " 'avro' or 'raw'. Without columns it has Kafka's: key, value, topic, partition,"
              + " offset, timestamp, timestampType.");
    }
    for (String option : NEED_COLUMNS) {
      if (!values.containsKey(option)) continue;
      throw invalid(
          places.get(option),
          "The option '"
              + option
              + "' is for tables with"
              + " columns of their own and 'value.format'.");
    }
  }

  /** Check that the formats of value and key can carry their columns. */
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
      throw invalid(places.get("key.format"), "With 'key.format' = 'raw' the key is one column.");
    }
  }

  private void checkType(String option, String format, StructField column) {
    String why = KafkaFormat.whyUnsupported(format, column.dataType());
    if (why == null) return;
    throw invalid(
        places.get(option),
        "The column "
            + column.name()
            + ", "
            + column.dataType().sql()
            + ", "
            + why
            + ". Use 'json' or 'avro', or another type.");
  }

  private List<String> keyColumns() {
    return KafkaTable.columnList(values.get("key.columns"));
  }

  private static boolean isRaw(String format) {
    return "raw".equalsIgnoreCase(format);
  }

  /** Return whether all columns are Kafka's own, as SHOW CREATE TABLE writes them. */
  private static boolean areKafkasOwn(StructType columns) {
    StructType kafkas = KafkaTable.MESSAGE_WITH_HEADERS;
    for (StructField column : columns.fields()) {
      String name = column.name();
      if (!contains(List.of(kafkas.fieldNames()), name)) return false;
      if (!name.equals("headers") && !kafkas.apply(name).dataType().equals(column.dataType()))
        return false;
    }
    return true;
  }

  /** Return whether a name is in a list, in any case. */
  static boolean contains(List<String> names, String name) {
    return names.stream().anyMatch(name::equalsIgnoreCase);
  }
}
