package dev.jetsql.options;

import dev.jetsql.common.SimilarNames;
import dev.jetsql.connections.Connections;
import dev.jetsql.records.OnError;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.avro.AvroOptions$;
import org.apache.spark.sql.catalyst.DataSourceOptions;
import org.apache.spark.sql.catalyst.csv.CSVOptions$;
import org.apache.spark.sql.catalyst.json.JSONOptions$;
import org.apache.spark.sql.catalyst.xml.XmlOptions$;
import org.apache.spark.sql.execution.datasources.orc.OrcOptions$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions$;
import org.apache.spark.sql.execution.datasources.text.TextOptions$;
import scala.jdk.javaapi.CollectionConverters;

/** The options of tables that JetSQL, Spark, a connector or a driver knows, by formats. */
final class KnownOptions {
  static final String KEY_COLUMNS = "key.columns";
  static final String DELETE_WHEN = "delete.when";

  /** The options of JetSQL, with the formats of the tables that have them. */
  private static final Map<String, List<String>> OF_JETSQL = new LinkedHashMap<>();

  static {
    OF_JETSQL.put(Connections.OPTION, List.of("jdbc", "kafka"));
    OF_JETSQL.put(KEY_COLUMNS, List.of("jdbc", "kafka", "delta", "iceberg"));
    OF_JETSQL.put(DELETE_WHEN, List.of("delta", "iceberg"));
    for (var name : List.of("lookup", "lookup.cache.ttl", "lookup.cache.rows"))
      OF_JETSQL.put(name, List.of("jdbc"));
    OF_JETSQL.put(OnError.OPTION, List.of("json", "csv", "kafka"));
    for (var name : List.of("key.format", "value.format", "watermark", "delivery.headers"))
      OF_JETSQL.put(name, List.of("kafka"));
  }

  /** The options that decide how jobs write a table, also of the properties of a table. */
  static final List<String> OF_SINKS = List.of(KEY_COLUMNS, DELETE_WHEN);

  /** The options of JetSQL that a query cannot choose. */
  private static final List<String> OF_TABLE =
      List.of(
          Connections.OPTION, KEY_COLUMNS, DELETE_WHEN, "key.format", "value.format", "watermark");

  private static final Map<String, DataSourceOptions> OF_FORMATS =
      Map.of(
          "json", JSONOptions$.MODULE$,
          "csv", CSVOptions$.MODULE$,
          "avro", AvroOptions$.MODULE$,
          "parquet", ParquetOptions$.MODULE$,
          "orc", OrcOptions$.MODULE$,
          "text", TextOptions$.MODULE$,
          "xml", XmlOptions$.MODULE$);

  /** The objects of Spark whose constants are the names of the options of its test sources. */
  private static final Map<String, String> OF_RATES =
      Map.of(
          "rate", "org.apache.spark.sql.execution.streaming.sources.RateStreamProvider$",
          "rate-micro-batch",
              "org.apache.spark.sql.execution.streaming.sources.RatePerMicroBatchProvider$");

  /** The options that select the files of a query, and do not change how Spark reads a line. */
  private static final List<String> OF_FILE_SELECTION =
      List.of(
          "pathGlobFilter",
          "recursiveFileLookup",
          "modifiedBefore",
          "modifiedAfter",
          "maxFilesPerTrigger",
          "maxBytesPerTrigger",
          "maxFileAge",
          "maxCachedFiles",
          "discardCachedInputRatio",
          "latestFirst",
          "fileNameOnly",
          "cleanSource",
          "sourceArchiveDir");

  /** The other options of Spark's sources and sinks of files. */
  private static final List<String> OF_FILES =
      List.of(
          "paths",
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
          "retention");

  /** The options that Spark's catalog adds to those of any table. */
  private static final List<String> OF_CATALOG =
      List.of("path", "serialization.format", "__partition_columns");

  private KnownOptions() {}

  /** Returns the options of JetSQL for tables of any format. */
  static Collection<String> ofJetSql() {
    return OF_JETSQL.keySet();
  }

  /** Returns the formats that have an option of JetSQL; none for any other option. */
  static List<String> formatsOf(String name) {
    for (var entry : OF_JETSQL.entrySet())
      if (entry.getKey().equalsIgnoreCase(name)) return entry.getValue();
    return List.of();
  }

  /** Returns whether JetSQL reads an option of the properties of a table. format: in lower case */
  static boolean isProperty(String format, String name) {
    return LakeOptions.isLake(format) && SimilarNames.contains(OF_SINKS, name);
  }

  /** Returns whether an option of JetSQL defines a table, so that a query cannot choose it. */
  static boolean definesTable(String name) {
    return SimilarNames.contains(OF_TABLE, name);
  }

  /** Returns whether an option selects the files of a query. */
  static boolean selectsFiles(String name) {
    return SimilarNames.contains(OF_FILE_SELECTION, name);
  }

  /** Returns whether a query can name files of a format, as in json.`path`. */
  static boolean readsFiles(String format) {
    return OF_FORMATS.containsKey(format);
  }

  /** Returns whether Spark's catalog adds an option itself. */
  static boolean isOfCatalog(String name) {
    return SimilarNames.contains(OF_CATALOG, name);
  }

  /**
   * The options of tables of a format that JetSQL did not add.
   *
   * @param areAll whether these are all; otherwise their list shows only which names are misspelled
   */
  record Names(Collection<String> names, boolean areAll) {}

  /**
   * Returns the options that Spark, a connector or a driver knows of tables of a format.
   *
   * @param format in lower case; null if it is not known
   * @param options those of the table, which the driver of a database needs
   */
  static Names of(String format, Map<String, String> options) {
    if (format == null) return names(false);
    if (format.equals("jdbc")) {
      var ofDriver = JdbcOptions.ofDriver(options);
      return names(!ofDriver.isEmpty(), JdbcOptions.ofSpark(), ofDriver, JdbcOptions.LOGIN);
    }
    if (LakeOptions.isLake(format)) {
      var ofConnector = LakeOptions.of(format);
      return names(!ofConnector.isEmpty(), ofConnector);
    }
    if (OF_RATES.containsKey(format)) {
      var ofSource = LakeOptions.ofObject(OF_RATES.get(format));
      return names(!ofSource.isEmpty(), ofSource);
    }
    if (!readsFiles(format)) return names(false);
    var ofFormat = CollectionConverters.asJava(OF_FORMATS.get(format).getAllOptions());
    return names(true, OF_FILES, OF_FILE_SELECTION, ofFormat);
  }

  @SafeVarargs
  private static Names names(boolean areAll, Collection<String>... lists) {
    var names = new ArrayList<String>();
    for (var list : lists) names.addAll(list);
    return new Names(names, areAll);
  }
}
