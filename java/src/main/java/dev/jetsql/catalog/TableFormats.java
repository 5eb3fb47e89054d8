package dev.jetsql.catalog;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.ConnectorJars;
import dev.jetsql.versions.Connectors;
import dev.jetsql.versions.SparkCalls;
import dev.jetsql.versions.SparkVersion;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Refuses statements about Delta and Iceberg tables in an engine that was started without their
 * connectors: an extension of a session cannot be added later. Spark's error names a class.
 */
final class TableFormats {
  private static final Map<String, String> CLASSES =
      Map.of(
          "delta", "io.delta.sql.DeltaSparkSessionExtension",
          "iceberg", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions");

  private TableFormats() {}

  /**
   * Throws FORMAT_NOT_LOADED at the format of a statement that creates a table, and NOT_SUPPORTED
   * for a table of Iceberg in a catalog of Spark, which would fail without a reason.
   */
  static void check(SparkSession session, LogicalPlan command) {
    var spec = spec(command);
    if (spec == null || spec.provider().isEmpty()) return;
    var provider = spec.provider().get();
    if (!CatalogTables.hasFormat(provider)) return;
    var written = Pattern.compile("(?i)\\busing\\s+`?(" + Pattern.quote(provider) + ")\\b");
    var origin = OptionPositions.ofMatch(command.origin(), written);
    check(provider, origin);
    if (provider.equalsIgnoreCase("iceberg")) checkCatalog(session, command, origin);
  }

  private static void checkCatalog(SparkSession session, LogicalPlan command, Origin origin) {
    if (!(command.children().head() instanceof UnresolvedIdentifier name)) return;
    var catalog = TableNames.qualified(session, Plans.list(name.nameParts())).get(0);
    var plugin = SparkCalls.catalog(session, catalog);
    if (plugin == null || CatalogTables.isOfIceberg(plugin)) return;
    var message = "The catalog " + catalog + " cannot have tables of Iceberg. Write the name of a ";
    message += "catalog with type = \"iceberg\" in config.toml, such as lake.namespace.table.";
    throw Exceptions.raise(JetSqlException.at(origin, "NOT_SUPPORTED", "0A000", message));
  }

  /** Throws FORMAT_NOT_LOADED at a position if the format of a table is not loaded. */
  static void check(String provider, Origin origin) {
    if (!isMissing(provider)) return;
    var key = provider.toLowerCase(Locale.ROOT);
    var name = key.substring(0, 1).toUpperCase(Locale.ROOT) + key.substring(1);
    throw Exceptions.raise(
        JetSqlException.at(origin, "FORMAT_NOT_LOADED", "0A000", name + " " + reason(key)));
  }

  private static String reason(String key) {
    if (Connectors.has(key)) {
      return "is not loaded in this engine. Start the engine with --"
          + key
          + ", or build the session that the engine uses with its extension and catalog.";
    }
    return "is not loaded in this engine, and has no release for Spark "
        + SparkVersion.name()
        + ". Install another PySpark, pip install 'pyspark=="
        + Connectors.newestSpark(key)
        + ".*', and start the engine with --"
        + key
        + ".";
  }

  private static boolean isMissing(String provider) {
    var className = CLASSES.get(provider.toLowerCase(Locale.ROOT));
    return className != null && !ConnectorJars.has(className);
  }

  private static TableSpecBase spec(LogicalPlan command) {
    if (command instanceof CreateTable create) return create.tableSpec();
    if (command instanceof CreateTableAsSelect create) return create.tableSpec();
    if (command instanceof ReplaceTable replace) return replace.tableSpec();
    return command instanceof ReplaceTableAsSelect replace ? replace.tableSpec() : null;
  }
}
