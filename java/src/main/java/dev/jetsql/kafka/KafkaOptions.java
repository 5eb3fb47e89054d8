package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.sql.OptionPlaces;
import dev.jetsql.sql.Secrets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark$;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.util.IntervalUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The OPTIONS of a Kafka table, each checked at its place in the statement: Spark would find a wrong one when a job runs,
 * or never.
 */
public class KafkaOptions {
  private static final String[] REFUSED = {"kafka.key.deserializer", "kafka.value.deserializer", "kafka.key.serializer",
      "kafka.value.serializer", "kafka.auto.offset.reset", "kafka.enable.auto.commit", "kafka.interceptor.classes",
      "kafka.transactional.id", "json.mode", "csv.mode", "avro.mode", "json.columnNameOfCorruptRecord",
      "csv.columnNameOfCorruptRecord"};
  private static final String[] NUMBERS = {"maxoffsetspertrigger", "minoffsetspertrigger", "minpartitions",
      "maxrecordsperpartition", "kafkaconsumer.polltimeoutms", "fetchoffset.numretries", "fetchoffset.retryintervalms"};
  private static final String[] NOT_ZERO = {"maxoffsetspertrigger", "minpartitions", "maxrecordsperpartition"};
  private static final String[] IN_JSON = {"assign", "startingoffsets", "startingoffsetsbytimestamp", "endingoffsets",
      "endingoffsetsbytimestamp"};
  private static final String[] BOOLEANS = {"includeheaders", "failondataloss", "delivery.headers"};
  // What a table is: jobs, dead letters and the questions to its broker go by the table, not by a query.
  private static final String[] OF_TABLE = {"topic", "subscribe", "subscribepattern", "assign", "kafka.bootstrap.servers",
      "value.format", "key.format", "key.columns", "watermark", "includeheaders", "avro.schema.id"};
  private static final String PRIVILEGES = UnresolvedRelation$.MODULE$.REQUIRED_WRITE_PRIVILEGES(); // Spark's own word
  private static final String SERVERS = "[^\\s,]+:[0-9]{1,5}(\\s*,\\s*[^\\s,]+:[0-9]{1,5})*";
  private static final String[] SOURCES = {"topic", "subscribe", "subscribepattern", "assign"};

  private final StructType columns;
  private final Map values = new HashMap();
  private final Map places = new HashMap();

  /** columns: null where a query will tell them. Throws a Failure for what is wrong. */
  static void check(UnresolvedTableSpec spec, StructType columns) {
    KafkaOptions options = new KafkaOptions(columns);
    Iterator each = spec.optionExpression().options().iterator();
    while (each.hasNext()) {
      Tuple2 option = (Tuple2) each.next();
      options.add((String) option._1(), (Expression) option._2());
    }
    options.checkTogether();
  }

  /** As `check`, for a table whose columns a query has told; there are no places left to point at. */
  static void check(scala.collection.immutable.Map given, StructType columns) {
    KafkaOptions options = new KafkaOptions(columns);
    Iterator each = given.iterator();
    while (each.hasNext()) {
      Tuple2 option = (Tuple2) each.next();
      String name = (String) option._1();
      options.values.put(name.toLowerCase(Locale.ROOT), option._2());
      options.checkValue(name, name.toLowerCase(Locale.ROOT), (String) option._2(), null);
    }
    options.checkTogether();
  }

  /** The options that a query gives for a table, `WITH (...)`, each at its place. relation: the table's in the query. */
  public static void checkQuery(Origin relation, Map given, KafkaTable table, boolean streaming) {
    KafkaOptions options = new KafkaOptions(null);
    java.util.Iterator each = given.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry option = (Map.Entry) each.next();
      String name = (String) option.getKey();
      String key = name.toLowerCase(Locale.ROOT);
      if (key.equals(PRIVILEGES)) continue;
      Origin place = OptionPlaces.after(relation, name, null);
      if (has(REFUSED, key)) throw fixed(place, name);
      if (has(OF_TABLE, key)) {
        throw failure(place, "OPTION_NOT_CHANGEABLE", "42616", "'" + name + "' says what the table " + table.name()
            + " is, and can't be given in a query. Make another table for it.");
      }
      if (!KafkaOptionNames.known(key)) throw unknown(place, name);
      if (streaming && key.equals("on.error") && new KafkaTable(null, table.table, new HashMap()).hasLetters()) {
        throw failure(place, "OPTION_NOT_CHANGEABLE", "42616", "The dead letters of the table " + table.name() + " are kept"
            + " for each job that reads it: 'on.error' can't be given in a query. Make another table for it.");
      }
      Origin value = OptionPlaces.after(relation, name, (String) option.getValue());
      if (key.equals("on.error")) oneOf(name, (String) option.getValue(), new String[] {"fail", "null", "skip"}, value);
      options.checkValue(name, key, (String) option.getValue(), value);
    }
  }

  /** What an INSERT gives for its table, which would be thrown away. */
  public static void refuseWithInsert(Origin relation, Map given, KafkaTable table) {
    Map named = new HashMap(given);
    named.remove(PRIVILEGES);
    if (named.isEmpty()) return;
    String name = (String) named.keySet().iterator().next();
    throw failure(OptionPlaces.after(relation, name, null), "OPTION_NOT_CHANGEABLE", "42616", "Options of the Kafka table "
        + table.name() + " can't be given with INSERT: they stand in its CREATE TABLE.");
  }

  private KafkaOptions(StructType columns) { this.columns = columns; }

  private void add(String name, Expression value) {
    String key = name.toLowerCase(Locale.ROOT);
    Origin place = value.origin();
    Origin named = OptionPlaces.ofKey(place, name);
    if (values.containsKey(key)) throw failure(named, "DUPLICATE_OPTION", "42614", "The option '" + name + "' is given twice.");
    if (has(REFUSED, key)) {
      throw fixed(named, name);
    }
    if (!KafkaOptionNames.known(key)) throw unknown(named, name);
    if (!(value instanceof Literal) || ((Literal) value).value() == null) {
      throw failure(place, "INVALID_OPTION_VALUE", "22023", "The value of '" + name + "' must be a text, a number or a boolean.");
    }
    String text = String.valueOf(((Literal) value).value());
    values.put(key, text);
    places.put(key, place);
    checkValue(name, key, text, place);
  }

  private static RuntimeException fixed(Origin place, String name) {
    return failure(place, "OPTION_NOT_CHANGEABLE", "42616", "'" + name + "' can't be set for a Kafka table: JetSQL and Spark"
        + " set it themselves.");
  }

  private static RuntimeException unknown(Origin place, String name) {
    String key = name.toLowerCase(Locale.ROOT);
    String close = KafkaOptionNames.near(key, 3);
    if (close == null && KafkaOptionNames.exact("kafka." + key)) close = "kafka." + key;
    String hint = close != null ? " Did you mean '" + close + "'?"
        : " Options of Kafka's clients begin with 'kafka.', those of a format with its name ('json.timestampFormat').";
    return failure(place, "UNKNOWN_OPTION", "42616", "Kafka tables have no option '" + name + "'." + hint);
  }

  private void checkValue(String name, String key, String text, Origin place) {
    if (Secrets.isReference(text) && !key.startsWith("kafka.")) {
      throw Secrets.noSecret(place, name, "only options of Kafka's clients can, which begin with 'kafka.'. Write its value.");
    }
    if (key.equals("value.format") || key.equals("key.format")) oneOf(name, text, KafkaFormat.NAMES, place);
    if (has(BOOLEANS, key)) oneOf(name, text, new String[] {"true", "false"}, place);
    if (has(NUMBERS, key) && !text.matches("[0-9]{1,18}")) {
      throw bad(place, name, text, "a whole number");
    }
    if (has(NOT_ZERO, key) && Long.parseLong(text) == 0) throw bad(place, name, text, "1 or more");
    if (key.equals("kafka.bootstrap.servers") && !Secrets.isReference(text) && !text.trim().matches(SERVERS)) {
      throw bad(place, name, text, "HOST:PORT, several of them with commas between");
    }
    if (has(IN_JSON, key) && text.trim().startsWith("{")) checkJson(name, text, place);
    if (key.equals("subscribepattern")) checkPattern(name, text, place);
    if (has(SOURCES, key) && text.trim().isEmpty()) throw bad(place, name, text, "the name of a topic");
    if (key.equals("topic") && !text.matches("(?!\\.{1,2}$)[A-Za-z0-9._-]{1,249}")) {
      throw bad(place, name, text, "the name of one topic: letters, digits, '.', '_' and '-'");
    }
    String lower = text.toLowerCase(Locale.ROOT);
    boolean toTable = lower.startsWith("table:") && lower.length() > 6;
    if (key.equals("on.error") && !toTable) oneOf(name, text, new String[] {"fail", "null", "skip", "table:NAME"}, place);
    if (key.equals("startingoffsets") && !lower.equals("earliest") && !lower.equals("latest") && !lower.startsWith("{")) {
      throw bad(place, name, text, "'earliest', 'latest' or a JSON object such as {\"topic\": {\"0\": 23, \"1\": -2}}");
    }
    if (key.equals("watermark")) checkWatermark(name, text, place);
    if (key.equals("avro.schema")) checkAvro(name, text, place);
    if (key.equals("avro.schema.id") && !(text.matches("[0-9]{1,10}") && Long.parseLong(text) <= Integer.MAX_VALUE)) {
      throw bad(place, name, text, "the number that a schema registry has given the schema");
    }
    if (key.equals("key.columns") && columns != null) checkKeyColumns(text, place);
  }

  private static void oneOf(String name, String text, String[] allowed, Origin place) {
    if (has(allowed, text)) return;
    StringBuilder words = new StringBuilder("one of ");
    for (int i = 0; i < allowed.length; i++) words.append(i == 0 ? "'" : ", '").append(allowed[i]).append("'");
    throw bad(place, name, text, words.toString());
  }

  private static void checkJson(String name, String text, Origin place) {
    try {
      Json.MAPPER.readTree(text);
    } catch (Exception e) {
      throw bad(place, name, text, "JSON");
    }
  }

  private static void checkPattern(String name, String text, Origin place) {
    try {
      Pattern.compile(text);
    } catch (PatternSyntaxException e) {
      throw bad(place, name, text, "a regular expression: " + e.getDescription());
    }
  }

  private void checkWatermark(String name, String text, Origin place) {
    String[] found = KafkaTable.watermark(text);
    if (found == null) throw bad(place, name, text, "such as 'ts DELAY OF INTERVAL 5 SECONDS'");
    try {
      long delay = EventTimeWatermark$.MODULE$.getDelayMs(IntervalUtils$.MODULE$.fromIntervalString(found[1]));
      if (delay < 0) throw new IllegalArgumentException();
    } catch (Exception e) {
      throw bad(place, name, text, "such as 'ts DELAY OF INTERVAL 5 SECONDS'");
    }
    if (columns == null || columns.length() == 0) return;
    String column = KafkaFormat.named(columns, found[0]);
    if (column == null) throw noColumn(place, name, found[0]);
    DataType type = columns.apply(column).dataType();
    if (type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType)) return;
    throw bad(place, name, text, "of a TIMESTAMP column, and " + column + " is " + type.sql());
  }

  private void checkAvro(String name, String text, Origin place) {
    StructType fields;
    try {
      fields = KafkaFormat.avroFields(text);
    } catch (Exception e) {
      throw failure(place, "INVALID_OPTION_VALUE", "22023", "'" + name + "' must be the Avro schema of a record, as JSON: "
          + e.getMessage() + ".");
    }
    for (int i = 0; columns != null && i < columns.length(); i++) {
      if (KafkaFormat.named(fields, columns.apply(i).name()) != null) continue;
      throw failure(place, "INVALID_OPTION_VALUE", "22023", "The record of '" + name + "' has no field for the column "
          + columns.apply(i).name() + ". Its fields: " + String.join(", ", fields.fieldNames()) + ".");
    }
  }

  private void checkKeyColumns(String text, Origin place) {
    String[] asked = text.split(",");
    for (int i = 0; i < asked.length; i++) {
      String wanted = asked[i].trim().replaceAll("^[`\"]|[`\"]$", "");
      if (!has(columns.fieldNames(), wanted)) throw noColumn(place, "key.columns", wanted);
      for (int k = 0; k < i; k++) {
        if (asked[k].trim().equalsIgnoreCase(asked[i].trim())) throw bad(place, "key.columns", text, "each column once");
      }
    }
  }

  private RuntimeException noColumn(Origin place, String option, String column) {
    return failure(place, "INVALID_OPTION_VALUE", "22023", "The option '" + option + "' names the column " + column
        + ", and the table has none of that name. Its columns: " + String.join(", ", columns.fieldNames()) + ".");
  }

  private void checkTogether() {
    if (!values.containsKey("kafka.bootstrap.servers")) {
      throw missing("A Kafka table needs the option 'kafka.bootstrap.servers': where its brokers are, HOST:PORT.");
    }
    int sources = 0;
    for (int i = 0; i < SOURCES.length; i++) if (values.containsKey(SOURCES[i])) sources++;
    if (sources != 1) {
      throw missing("A Kafka table needs the option 'topic'; to read several topics, one of 'subscribe', 'subscribePattern'"
          + " and 'assign' instead of it.");
    }
    if (columns != null) checkColumns();
  }

  private void checkColumns() {
    boolean raw = columns.length() == 0 || isMessage();
    if (values.containsKey("value.format")) {
      if (columns.length() == 0) {
        throw failure(place("value.format"), "INVALID_OPTION_VALUE", "22023", "A Kafka table with 'value.format' needs its"
            + " columns in the statement: CREATE TABLE t (id BIGINT, ...) USING kafka ...");
      }
      if ("raw".equalsIgnoreCase((String) values.get("value.format"))) checkRaw();
      checkTypes();
      return;
    }
    if (!raw) {
      throw missing("A Kafka table with columns of its own needs the option 'value.format': 'json', 'csv', 'avro' or 'raw'."
          + " Without columns it has Kafka's: key, value, topic, partition, offset, timestamp, timestampType.");
    }
    String[] typed = {"key.format", "key.columns", "on.error", "watermark"};
    for (int i = 0; i < typed.length; i++) {
      if (values.containsKey(typed[i])) {
        throw failure(place(typed[i]), "INVALID_OPTION_VALUE", "22023", "The option '" + typed[i] + "' is for tables with"
            + " columns of their own and 'value.format'.");
      }
    }
  }

  /** Whether the formats of value and key can carry all that is in them. */
  private void checkTypes() {
    String value = (String) values.get("value.format");
    String key = (String) values.get("key.format");
    String[] keys = keyColumns();
    boolean inValue = !"raw".equalsIgnoreCase(value);
    for (int i = 0; i < columns.length(); i++) {
      boolean isKey = has(keys, columns.apply(i).name());
      if (inValue || !isKey) checkType("value.format", value, columns.apply(i));
      if (isKey) checkType(key == null ? "key.columns" : "key.format", key != null ? key : "json", columns.apply(i));
    }
    if ("raw".equalsIgnoreCase(key) && keys.length > 1) {
      throw failure(place("key.format"), "INVALID_OPTION_VALUE", "22023", "With 'key.format' = 'raw' the key is one column.");
    }
  }

  private void checkType(String option, String format, StructField column) {
    String why = KafkaFormat.cannotBe(format, column.dataType());
    if (why == null) return;
    throw failure(place(option), "INVALID_OPTION_VALUE", "22023", "The column " + column.name() + ", "
        + column.dataType().sql() + ", " + why + ". Use 'json' or 'avro', or another type.");
  }

  /** Those of the option, as it names them. */
  private String[] keyColumns() {
    String given = (String) values.get("key.columns");
    String[] found = given == null ? new String[0] : given.split(",");
    for (int i = 0; i < found.length; i++) found[i] = found[i].trim().replaceAll("^[`\"]|[`\"]$", "");
    return found;
  }

  private void checkRaw() {
    if (columns.length() - keyColumns().length != 1) {
      throw failure(place("value.format"), "INVALID_OPTION_VALUE", "22023", "With 'value.format' = 'raw' the value is one"
          + " column: name all others in 'key.columns'.");
    }
  }

  /** Whether the columns are Kafka's own, as SHOW CREATE TABLE gives them back. */
  private boolean isMessage() {
    StructType all = KafkaTable.MESSAGE_WITH_HEADERS;
    for (int i = 0; i < columns.length(); i++) {
      String name = columns.apply(i).name();
      if (!has(all.fieldNames(), name)) return false;
      if (!name.equals("headers") && !all.apply(name).dataType().equals(columns.apply(i).dataType())) return false;
    }
    return columns.length() > 0;
  }

  private Origin place(String key) { return (Origin) places.get(key); }

  private static boolean has(String[] names, String name) {
    for (int i = 0; i < names.length; i++) if (names[i].equalsIgnoreCase(name)) return true;
    return false;
  }

  private static RuntimeException bad(Origin place, String name, String text, String right) {
    String shown = Secrets.isName(name) ? "***" : text;
    return failure(place, "INVALID_OPTION_VALUE", "22023", "'" + name + "' is '" + shown + "'. It must be " + right + ".");
  }

  private static RuntimeException missing(String message) {
    return Exceptions.raise(JetSqlException.of("INVALID_OPTION_VALUE", "22023", message));
  }

  private static RuntimeException failure(Origin place, String condition, String state, String message) {
    return Exceptions.raise(place == null ? JetSqlException.of(condition, state, message)
        : JetSqlException.at(place, condition, state, message));
  }
}
