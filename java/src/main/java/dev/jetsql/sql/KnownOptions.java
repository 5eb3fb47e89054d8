package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Secrets;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.sql.avro.AvroOptions$;
import org.apache.spark.sql.catalyst.DataSourceOptions;
import org.apache.spark.sql.catalyst.csv.CSVOptions$;
import org.apache.spark.sql.catalyst.json.JSONOptions$;
import org.apache.spark.sql.catalyst.xml.XmlOptions$;
import org.apache.spark.sql.execution.datasources.orc.OrcOptions$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions$;
import org.apache.spark.sql.execution.datasources.text.TextOptions$;
import scala.jdk.javaapi.CollectionConverters;

/** The options of tables that JetSQL, Spark or a JDBC driver knows, by the format of the table. */
final class KnownOptions {
  /** The options that JetSQL adds to the tables of a format. Those of Kafka are in its package. */
  private static final Map<String, List<String>> OF_JETSQL =
      Map.of(
          "jdbc", List.of("key.columns", "lookup", "lookup.cache.ttl", "lookup.cache.rows"),
          "json", List.of("on.error"),
          "csv", List.of("on.error"));

  /** The properties that JetSQL reads of tables that are more than files. */
  private static final List<String> PROPERTIES = List.of("key.columns", "delete.when");

  private static final Map<String, DataSourceOptions> OF_FORMATS =
      Map.of(
          "json", JSONOptions$.MODULE$,
          "csv", CSVOptions$.MODULE$,
          "avro", AvroOptions$.MODULE$,
          "parquet", ParquetOptions$.MODULE$,
          "orc", OrcOptions$.MODULE$,
          "text", TextOptions$.MODULE$,
          "xml", XmlOptions$.MODULE$);

  /** The options of Spark's sources and sinks of files, and those that its catalog adds. */
  private static final List<String> OF_FILES =
      List.of(
          "path",
          "paths",
          "serialization.format",
          "pathGlobFilter",
          "recursiveFileLookup",
          "modifiedBefore",
          "modifiedAfter",
          "basePath",
          "ignoreCorruptFiles",
          "ignoreMissingFiles",
          "timeZone",
          "compression",
          "codec",
          "partitionOverwriteMode",
          "maxRecordsPerFile",
          "inferSchema",
          "mergeSchema",
          "maxFilesPerTrigger",
          "maxBytesPerTrigger",
          "maxFileAge",
          "maxCachedFiles",
          "discardCachedInputRatio",
          "latestFirst",
          "fileNameOnly",
          "cleanSource",
          "sourceArchiveDir",
          "retention",
          "key.columns", // SINK INTO refuses it
          "__partition_columns");

  private KnownOptions() {}

  /** Returns whether JetSQL knows all options of a format. */
  static boolean isListed(String format) {
    return format.equals("jdbc") || OF_FORMATS.containsKey(format);
  }

  /** Returns the options and properties of JetSQL for any format but Kafka's. */
  static List<String> ofJetSql() {
    var names = new ArrayList<>(PROPERTIES);
    OF_JETSQL.values().forEach(names::addAll);
    return names;
  }

  /** Returns whether JetSQL reads a property of a table, and not only an option. */
  static boolean isProperty(String format, String name) {
    return CatalogTables.hasFormat(format)
        && PROPERTIES.stream().anyMatch(each -> each.equalsIgnoreCase(name));
  }

  /** Returns the known options of a format that is listed. options: those of the table */
  static List<String> of(String format, Map<String, String> options) {
    var names = new ArrayList<>(OF_JETSQL.getOrDefault(format, List.of()));
    if (format.equals("jdbc")) {
      names.addAll(JdbcSecrets.optionNames());
      names.addAll(ofDriver(options));
      return names;
    }
    names.addAll(OF_FILES);
    names.addAll(
        CollectionConverters.asJava(OF_FORMATS.get(format).getAllOptions()).stream().toList());
    return names;
  }

  /** Returns the properties that the driver of a JDBC table lists; ANY if it cannot be asked. */
  private static List<String> ofDriver(Map<String, String> options) {
    var url = option(options, "url");
    var names = new ArrayList<String>(List.of("user", "password", "path", "serialization.format"));
    try {
      var className = option(options, "driver");
      if (!className.isEmpty())
        Class.forName(className, true, Thread.currentThread().getContextClassLoader());
      var properties = driver(url, className).getPropertyInfo(url, new Properties());
      if (properties.length == 0) names.add(ANY); // the driver does not say
      for (var property : properties) names.add(property.name);
    } catch (SQLException | ReflectiveOperationException | RuntimeException e) {
      names.add(ANY); // Spark reports what is wrong with the driver or the URL
    }
    return names;
  }

  /** A name that stands for all names. */
  static final String ANY = "*";

  private static Driver driver(String url, String className)
      throws SQLException, ReflectiveOperationException {
    if (className.isEmpty()) return DriverManager.getDriver(url);
    var loader = Thread.currentThread().getContextClassLoader();
    return (Driver) Class.forName(className, true, loader).getConstructor().newInstance();
  }

  private static String option(Map<String, String> options, String name) {
    for (var entry : options.entrySet())
      if (entry.getKey().toLowerCase(Locale.ROOT).equals(name))
        try {
          return Secrets.reveal(entry.getValue());
        } catch (Exception e) { // a secret that cannot be read is reported by the connection
          throw Exceptions.raise(e);
        }
    return "";
  }
}
