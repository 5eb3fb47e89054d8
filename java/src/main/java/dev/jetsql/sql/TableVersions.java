package dev.jetsql.sql;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The versions of tables, by which a session knows that the file list of a table that it keeps is
 * out of date.
 *
 * <p>A Spark session keeps the file list of every table that it has read, and does not notice what
 * jobs write. Each table that a job writes has a version here, raised with every commit, and a
 * session drops what it kept when the version has moved. So has each table that a client's
 * statement changed, for the other clients' sessions: a table that was dropped and made again would
 * otherwise be written with the columns of the old one. Only such tables pay for a new listing, and
 * only when they are read or written.
 */
public final class TableVersions {
  private static final Map<String, Long> versions = new HashMap<>();
  private static final Map<SessionCatalog, Map<String, Long>> seen = new WeakHashMap<>();

  private TableVersions() {}

  /** Note that the files of `table` (qualified, lower case: catalog.schema.table) have changed. */
  static synchronized void changed(String table) {
    versions.merge(table, 1L, Long::sum);
  }

  /** Note that a statement has run: the tables that its command names may have changed. */
  public static void ran(Dataset<Row> rows) {
    if (!(rows.queryExecution().commandExecuted() instanceof CommandResult result)) return;
    var command = result.commandLogicalPlan();
    var name = command.getClass().getSimpleName();
    if (name.startsWith("Show") || name.startsWith("Describe")) return;
    for (var member : CollectionConverters.asJava(command.productIterator().toList())) {
      var value = member instanceof Option<?> option && option.isDefined() ? option.get() : member;
      if (value instanceof CatalogTable table) value = table.identifier();
      if (value instanceof TableIdentifier table) changed(qualified(table, rows.sparkSession()));
    }
  }

  private static String qualified(TableIdentifier table, SparkSession session) {
    var schema = table.database();
    return key(
        schema.isDefined() ? schema.get() : session.sessionState().catalog().getCurrentDatabase(),
        table.table());
  }

  private static String key(String schema, String name) {
    return (Tables.CATALOG + "." + schema + "." + name).toLowerCase(Locale.ROOT);
  }

  /** Have a session drop what it kept of a table, if that has changed since. */
  static void refresh(SessionCatalog catalog, String schema, String name) {
    if (moved(catalog, key(schema, name))) {
      catalog.invalidateCachedTable(new TableIdentifier(name, Option.apply(schema)));
    }
  }

  private static synchronized boolean moved(SessionCatalog catalog, String table) {
    var version = versions.get(table);
    if (version == null) return false;
    return !version.equals(
        seen.computeIfAbsent(catalog, key -> new HashMap<>()).put(table, version));
  }
}
