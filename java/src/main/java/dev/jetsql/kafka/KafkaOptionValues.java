package dev.jetsql.kafka;

import static dev.jetsql.kafka.KafkaOptionErrors.badValue;
import static dev.jetsql.kafka.KafkaOptionErrors.invalid;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.jetsql.common.Json;
import dev.jetsql.common.Secrets;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.SchemaType;
import dev.jetsql.records.OnError;
import java.net.URI;
import java.net.URISyntaxException;
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
 * Checks the value of one option of a Kafka table. Throws INVALID_OPTION_VALUE at the value's
 * position in the statement.
 */
final class KafkaOptionValues {
  private static final String SERVERS = "[^\\s,]+:[0-9]{1,5}(\\s*,\\s*[^\\s,]+:[0-9]{1,5})*";
  private static final String TOPIC = "(?!\\.{1,2}$)[A-Za-z0-9._-]{1,249}";
  private static final String WATERMARK_FORM = "such as 'ts DELAY OF INTERVAL 5 SECONDS'";

  private final StructType columns;

  /** Creates the checks for a table. Its columns are null if they are not known. */
  KafkaOptionValues(StructType columns) {
    this.columns = columns;
  }

  /**
   * Checks a value.
   *
   * @param key the name in lower case
   * @param origin null if the option has no position in a statement
   */
  void check(String name, String key, String text, Origin origin) {
    boolean canBeSecret = key.startsWith("kafka.") || RegistryOptions.maySecret(key);
    if (Secrets.isReference(text) && !canBeSecret) {
      throw Secrets.noSecret(
          origin,
          name,
          "only options that begin with 'kafka.', and the credentials of a schema registry, can."
              + " Write the value.");
    }
    KafkaOption option = KafkaOption.of(key);
    if (option == null) return; // of a format or of Kafka's clients
    switch (option.kind()) {
      case "topic" -> checkTopic(name, text, origin);
      case "topics" -> checkNotEmpty(name, text, origin);
      case "pattern" -> checkPattern(name, text, origin);
      case "assign" -> checkAssign(name, text, origin);
      case "offsets" -> checkStart(name, text, origin);
      case "json" -> checkJson(name, text, origin);
      case "choice" -> checkOneOf(name, text, option.choices(), origin);
      case "count" -> checkPositive(name, text, origin);
      case "number" -> checkNumber(name, text, origin);
      case "servers" -> checkServers(name, text, origin);
      case "error" -> checkOnError(name, text, origin);
      case "watermark" -> checkWatermark(name, text, origin);
      case "avro-schema" -> checkAvroSchema(name, text, origin);
      case "schema-id" -> checkSchemaId(name, text, origin);
      case "columns" -> checkKeyColumns(text, origin);
      case "registry" -> checkOfRegistry(name, key, text, origin);
      default -> {}
    }
  }

  private static void checkOfRegistry(String name, String key, String text, Origin origin) {
    switch (RegistryOptions.name(key)) {
      case RegistryOptions.URL -> checkRegistryUrl(name, RegistryOptions.type(key), text, origin);
      case RegistryOptions.SUBJECT -> checkSubject(name, text, origin);
      case RegistryOptions.VERSION -> checkVersion(name, text, origin);
      default -> {}
    }
  }

  static void checkOneOf(String name, String text, List<String> allowed, Origin origin) {
    if (KafkaOptions.contains(allowed, text)) return;
    throw badValue(
        origin,
        name,
        text,
        "one of " + allowed.stream().collect(Collectors.joining("', '", "'", "'")));
  }

  private static void checkTopic(String name, String text, Origin origin) {
    checkNotEmpty(name, text, origin);
    if (text.matches(TOPIC)) return;
    throw badValue(origin, name, text, "the name of one topic: letters, digits, '.', '_' and '-'");
  }

  private static void checkNotEmpty(String name, String text, Origin origin) {
    if (text.trim().isEmpty()) throw badValue(origin, name, text, "the name of a topic");
  }

  private static void checkPattern(String name, String text, Origin origin) {
    try {
      Pattern.compile(text);
    } catch (PatternSyntaxException e) {
      throw badValue(origin, name, text, "a regular expression: " + e.getDescription());
    }
    checkNotEmpty(name, text, origin);
  }

  private static void checkAssign(String name, String text, Origin origin) {
    checkJson(name, text, origin);
    checkNotEmpty(name, text, origin);
  }

  private static void checkStart(String name, String text, Origin origin) {
    checkJson(name, text, origin);
    String lower = text.toLowerCase(Locale.ROOT);
    if (lower.equals("earliest") || lower.equals("latest") || lower.startsWith("{")) return;
    throw badValue(
        origin,
        name,
        text,
        "'earliest', 'latest' or a JSON object such as {\"topic\": {\"0\": 23, \"1\": -2}}");
  }

  private static void checkJson(String name, String text, Origin origin) {
    if (!text.trim().startsWith("{")) return;
    try {
      Json.MAPPER.readTree(text);
    } catch (JsonProcessingException e) {
      throw badValue(origin, name, text, "JSON");
    }
  }

  private static void checkNumber(String name, String text, Origin origin) {
    if (!text.matches("[0-9]{1,18}")) throw badValue(origin, name, text, "a whole number");
  }

  private static void checkPositive(String name, String text, Origin origin) {
    checkNumber(name, text, origin);
    if (Long.parseLong(text) == 0) throw badValue(origin, name, text, "1 or more");
  }

  private static void checkServers(String name, String text, Origin origin) {
    if (Secrets.isReference(text) || text.trim().matches(SERVERS)) return;
    throw badValue(origin, name, text, "HOST:PORT, or several of them separated by commas");
  }

  private static void checkOnError(String name, String text, Origin origin) {
    if (!OnError.isValid(text)) checkOneOf(name, text, OnError.OF_TABLE, origin);
  }

  private void checkWatermark(String name, String text, Origin origin) {
    Watermark watermark = Watermark.parse(text);
    if (watermark == null || !hasDelay(watermark))
      throw badValue(origin, name, text, WATERMARK_FORM);
    if (columns == null || columns.length() == 0) return;
    String column = KafkaFormat.fieldName(columns, watermark.column());
    if (column == null) throw noColumn(origin, name, watermark.column());
    DataType type = columns.apply(column).dataType();
    if (type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType)) return;
    throw badValue(
        origin, name, text, "for a TIMESTAMP column, but " + column + " is " + type.sql());
  }

  private static boolean hasDelay(Watermark watermark) {
    try {
      return watermark.delayMillis() >= 0;
    } catch (Exception e) {
      return false;
    }
  }

  private void checkAvroSchema(String name, String text, Origin origin) {
    StructType fields;
    try {
      fields = AvroFormat.fields(text);
    } catch (Exception e) {
      throw invalid(
          origin,
          "'" + name + "' must be the Avro schema of a record, as JSON: " + e.getMessage() + ".");
    }
    if (columns == null) return;
    for (StructField column : columns.fields()) {
      if (KafkaFormat.fieldName(fields, column.name()) != null) continue;
      throw invalid(
          origin,
          "The record of '"
              + name
              + "' has no field for the column "
              + column.name()
              + ". Its fields: "
              + String.join(", ", fields.fieldNames())
              + ".");
    }
  }

  private static void checkSchemaId(String name, String text, Origin origin) {
    if (text.matches("[0-9]{1,10}") && Long.parseLong(text) <= Integer.MAX_VALUE) return;
    throw badValue(origin, name, text, "the id of the schema in a schema registry, a whole number");
  }

  private static void checkRegistryUrl(String name, SchemaType type, String text, Origin origin) {
    if (text.contains("@")) {
      throw invalid(
          origin,
          "'"
              + name
              + "' must not contain credentials. Write them into '"
              + RegistryOptions.option(type, RegistryOptions.USER_INFO)
              + "', such as 'secret:env:NAME'.");
    }
    try {
      URI url = new URI(text);
      if (text.matches("(?i)https?://.*")
          && url.getHost() != null
          && url.getQuery() == null
          && url.getFragment() == null) return;
    } catch (URISyntaxException e) {
      throw badValue(origin, name, text, "a URL: " + e.getReason());
    }
    throw badValue(origin, name, text, "a URL such as 'https://registry.example.com:8081'");
  }

  private static void checkSubject(String name, String text, Origin origin) {
    if (text.isBlank()) throw badValue(origin, name, text, "the name of a subject");
  }

  private static void checkVersion(String name, String text, Origin origin) {
    if (text.equals("latest") || text.matches("[1-9][0-9]{0,8}")) return;
    throw badValue(origin, name, text, "'latest' or the number of a version");
  }

  private void checkKeyColumns(String text, Origin origin) {
    if (columns == null) return;
    String[] entries = text.split(",", 0);
    List<String> names = KafkaTable.columnList(text);
    for (int i = 0; i < entries.length; i++) {
      if (KafkaFormat.fieldName(columns, names.get(i)) == null)
        throw noColumn(origin, "key.columns", names.get(i));
      for (int k = 0; k < i; k++) {
        if (!entries[k].trim().equalsIgnoreCase(entries[i].trim())) continue;
        throw badValue(origin, "key.columns", text, "each column once");
      }
    }
  }

  private RuntimeException noColumn(Origin origin, String option, String column) {
    return invalid(
        origin,
        "The option '"
            + option
            + "' names the column "
            + column
            + ", which the table does not have. Its columns: "
            + String.join(", ", columns.fieldNames())
            + ".");
  }
}
