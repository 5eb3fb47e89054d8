package dev.jetsql.catalog;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;
import org.apache.spark.sql.catalyst.catalog.RenameTableEvent;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.catalog.TableEvent;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The versions of tables, with which a session detects that its cached file list of a table is out
 * of date.
 *
 * <p>A Spark session caches the file list of every table that it has read, and does not see the
 * files that jobs write. Each table that a job writes has a version here, which every commit
 * increments. A session drops its cached list when the version has changed. Statements of clients
 * and changes of the catalog increment versions as well, for all other sessions: otherwise a
 * session would write a table that was dropped and created again with the columns of the old one.
 * Only such tables are listed again, and only when they are read or written.
 */
public final class TableVersions {
  private static final Map<String, Long> versions = new HashMap<>();
  private static final Map<SessionCatalog, Map<String, Long>> seenVersions = new WeakHashMap<>();

  private static final Map<SessionCatalog, Map<String, String>> seenConnections =
      new WeakHashMap<>();

  private TableVersions() {}

  /**
   * Records that the files of a table (qualified, lower case: catalog.schema.table) have changed.
   */
  static synchronized void changed(String table) {
    versions.merge(table, 1L, Long::sum);
  }

  /** Records that the catalog has changed a table, in whatever session. */
  public static void onEvent(ExternalCatalogEvent event) {
    if (event instanceof TableEvent table) changed(key(table.database(), table.name()));
    if (event instanceof RenameTableEvent table) changed(key(table.database(), table.newName()));
  }

  /** Records that a statement has run: it may have changed the tables that its command names. */
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

  /** Drops the cached file list of a table in a session if the table has changed since. */
  static void refresh(SessionCatalog catalog, String schema, String name) {
    if (hasChanged(catalog, key(schema, name))) {
      catalog.invalidateCachedTable(new TableIdentifier(name, Option.apply(schema)));
    }
  }

  /** Drops the cached relation of a table in a session if its connection has changed since. */
  static synchronized void refreshConnected(
      SessionCatalog catalog, String schema, String name, String version) {
    var seen = seenConnections.computeIfAbsent(catalog, key -> new HashMap<>());
    if (version.equals(seen.put(key(schema, name), version))) return;
    catalog.invalidateCachedTable(new TableIdentifier(name, Option.apply(schema)));
  }

  /** Returns whether a table has changed since the session has asked the last time. */
  static synchronized boolean hasChanged(SessionCatalog catalog, String table) {
    var version = versions.get(table);
    if (version == null) return false;
    return !version.equals(
        seenVersions.computeIfAbsent(catalog, key -> new HashMap<>()).put(table, version));
  }
}
