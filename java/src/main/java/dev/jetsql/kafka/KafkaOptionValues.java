package dev.jetsql.kafka;

import static dev.jetsql.kafka.KafkaOptionErrors.badValue;
import static dev.jetsql.kafka.KafkaOptionErrors.invalid;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.jetsql.common.Json;
import dev.jetsql.common.Secrets;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Check the value of one option of a Kafka table. Raises INVALID_OPTION_VALUE at its place in the
 * statement.
 */
final class KafkaOptionValues {
  private static final String SERVERS = "[^\\s,]+:[0-9]{1,5}(\\s*,\\s*[^\\s,]+:[0-9]{1,5})*";
  private static final String TOPIC = "(?!\\.{1,2}$)[A-Za-z0-9._-]{1,249}";
  private static final String WATERMARK_FORM = "such as 'ts DELAY OF INTERVAL 5 SECONDS'";
  private static final String TABLE = "table:";

  private final StructType columns;

  /** Make the checks of a table; its columns are null where they are not known. */
  KafkaOptionValues(StructType columns) {
    this.columns = columns;
  }

  /** Check a value. The key is the name in lower case; the place may be null. */
  void check(String name, String key, String text, Origin place) {
    if (Secrets.isReference(text) && !key.startsWith("kafka.")) {
      throw Secrets.noSecret(
          place,
          name,
          "only options of Kafka's clients can, which begin with 'kafka.'. Write its value.");
    }
    switch (key) {
      case "topic" -> checkTopic(name, text, place);
      case "subscribe" -> checkNotEmpty(name, text, place);
      case "subscribepattern" -> checkPattern(name, text, place);
      case "assign" -> checkAssign(name, text, place);
      case "startingoffsets" -> checkStart(name, text, place);
      case "startingoffsetsbytimestamp", "endingoffsets", "endingoffsetsbytimestamp" ->
          checkJson(name, text, place);
      case "value.format", "key.format" -> checkOneOf(name, text, KafkaFormat.NAMES, place);
      case "includeheaders", "failondataloss", "delivery.headers" ->
          checkOneOf(name, text, List.of("true", "false"), place);
      case "maxoffsetspertrigger", "minpartitions", "maxrecordsperpartition" ->
          checkPositive(name, text, place);
      case "minoffsetspertrigger",
          "kafkaconsumer.polltimeoutms",
          "fetchoffset.numretries",
          "fetchoffset.retryintervalms" ->
          checkNumber(name, text, place);
      case "kafka.bootstrap.servers" -> checkServers(name, text, place);
      case "on.error" -> checkOnError(name, text, place);
      case "watermark" -> checkWatermark(name, text, place);
      case "avro.schema" -> checkAvroSchema(name, text, place);
      case "avro.schema.id" -> checkSchemaId(name, text, place);
      case "key.columns" -> checkKeyColumns(text, place);
      default -> {}
    }
  }

  static void checkOneOf(String name, String text, List<String> allowed, Origin place) {
    if (KafkaOptions.contains(allowed, text)) return;
    throw badValue(
        place,
        name,
        text,
        "one of " + allowed.stream().collect(Collectors.joining("', '", "'", "'")));
  }

  private static void checkTopic(String name, String text, Origin place) {
    checkNotEmpty(name, text, place);
    if (text.matches(TOPIC)) return;
    throw badValue(place, name, text, "the name of one topic: letters, digits, '.', '_' and '-'");
  }

  private static void checkNotEmpty(String name, String text, Origin place) {
    if (text.trim().isEmpty()) throw badValue(place, name, text, "the name of a topic");
  }

  private static void checkPattern(String name, String text, Origin place) {
    try {
      Pattern.compile(text);
    } catch (PatternSyntaxException e) {
      throw badValue(place, name, text, "a regular expression: " + e.getDescription());
    }
    checkNotEmpty(name, text, place);
  }

  private static void checkAssign(String name, String text, Origin place) {
    checkJson(name, text, place);
    checkNotEmpty(name, text, place);
  }

  private static void checkStart(String name, String text, Origin place) {
    checkJson(name, text, place);
    String lower = text.toLowerCase(Locale.ROOT);
    if (lower.equals("earliest") || lower.equals("latest") || lower.startsWith("{")) return;
    throw badValue(
        place,
        name,
        text,
        "'earliest', 'latest' or a JSON object such as {\"topic\": {\"0\": 23, \"1\": -2}}");
  }

  private static void checkJson(String name, String text, Origin place) {
    if (!text.trim().startsWith("{")) return;
    try {
      Json.MAPPER.readTree(text);
    } catch (JsonProcessingException e) {
      throw badValue(place, name, text, "JSON");
    }
  }

  private static void checkNumber(String name, String text, Origin place) {
    if (!text.matches("[0-9]{1,18}")) throw badValue(place, name, text, "a whole number");
  }

  private static void checkPositive(String name, String text, Origin place) {
    checkNumber(name, text, place);
    if (Long.parseLong(text) == 0) throw badValue(place, name, text, "1 or more");
  }

  private static void checkServers(String name, String text, Origin place) {
    if (Secrets.isReference(text) || text.trim().matches(SERVERS)) return;
    throw badValue(place, name, text, "HOST:PORT, several of them with commas between");
  }

  private static void checkOnError(String name, String text, Origin place) {
    boolean toTable =
        text.toLowerCase(Locale.ROOT).startsWith(TABLE) && text.length() > TABLE.length();
    if (!toTable) checkOneOf(name, text, List.of("fail", "null", "skip", "table:NAME"), place);
  }

  private void checkWatermark(String name, String text, Origin place) {
    Watermark watermark = Watermark.parse(text);
    if (watermark == null || !hasDelay(watermark))
      throw badValue(place, name, text, WATERMARK_FORM);
    if (columns == null || columns.length() == 0) return;
    String column = KafkaFormat.fieldName(columns, watermark.column());
    if (column == null) throw noColumn(place, name, watermark.column());
    DataType type = columns.apply(column).dataType();
    if (type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType)) return;
    throw badValue(place, name, text, "of a TIMESTAMP column, and " + column + " is " + type.sql());
  }

  private static boolean hasDelay(Watermark watermark) {
    try {
      return watermark.delayMillis() >= 0;
    } catch (Exception e) {
      return false;
    }
  }

  private void checkAvroSchema(String name, String text, Origin place) {
    StructType fields;
    try {
      fields = AvroFormat.fields(text);
    } catch (Exception e) {
      throw invalid(
          place,
          "'" + name + "' must be the Avro schema of a record, as JSON: " + e.getMessage() + ".");
    }
    if (columns == null) return;
    for (StructField column : columns.fields()) {
      if (KafkaFormat.fieldName(fields, column.name()) != null) continue;
      throw invalid(
          place,
          "The record of '"
              + name
              + "' has no field for the column "
              + column.name()
              + ". Its fields: "
              + String.join(", ", fields.fieldNames())
              + ".");
    }
  }

  private static void checkSchemaId(String name, String text, Origin place) {
    if (text.matches("[0-9]{1,10}") && Long.parseLong(text) <= Integer.MAX_VALUE) return;
    throw badValue(place, name, text, "the number that a schema registry has given the schema");
  }

  private void checkKeyColumns(String text, Origin place) {
    if (columns == null) return;
    String[] given = text.split(",", 0);
    List<String> names = KafkaTable.columnList(text);
    for (int i = 0; i < given.length; i++) {
      if (KafkaFormat.fieldName(columns, names.get(i)) == null)
        throw noColumn(place, "key.columns", names.get(i));
      for (int k = 0; k < i; k++) {
        if (!given[k].trim().equalsIgnoreCase(given[i].trim())) continue;
        throw badValue(place, "key.columns", text, "each column once");
      }
    }
  }

  private RuntimeException noColumn(Origin place, String option, String column) {
    return invalid(
        place,
        "The option '"
            + option
            + "' names the column "
            + column
            + ", and the table has none of that name. Its columns: "
            + String.join(", ", columns.fieldNames())
            + ".");
  }
}
