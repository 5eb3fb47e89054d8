package dev.jetsql.sql;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The tables of a metastore that belongs to this process alone, as they are now. Each batch asks
 * for its table twice, and a metastore on Derby takes milliseconds to answer.
 *
 * <p>Only this process changes the metastore, and it reports each change as an event, which empties
 * the memory. A metastore in a database or behind a service is asked each time: other programs
 * change it, too.
 */
final class KnownTables {
  private static final Map<ExternalCatalog, KnownTables> ALL = new WeakHashMap<>();
  private static final String DERBY = "jdbc:derby:";
  private static final String DERBY_SERVER = "jdbc:derby://";

  private final Map<String, CatalogTable> tables = new HashMap<>();
  private long changes;

  /** Returns a table of Spark's own catalog as it is now. Throws as `ExternalCatalog.getTable`. */
  static CatalogTable get(SparkSession session, String schema, String name) {
    ExternalCatalog catalog = session.sharedState().externalCatalog();
    KnownTables known = of(session, catalog);
    return known == null ? catalog.getTable(schema, name) : known.get(catalog, schema, name);
  }

  private static KnownTables of(SparkSession session, ExternalCatalog catalog) {
    synchronized (ALL) {
      if (!(catalog instanceof ExternalCatalogWithListener events)) return null;
      return ALL.computeIfAbsent(
          catalog,
          key -> {
            if (!isPrivate(session.sparkContext().hadoopConfiguration())) return null;
            var known = new KnownTables();
            events.addListener(event -> known.clear());
            return known;
          });
    }
  }

  /**
   * Returns whether no other process can change a metastore: an embedded Derby locks its folder.
   */
  static boolean isPrivate(Configuration conf) {
    String url = conf.get("javax.jdo.option.ConnectionURL", "");
    return url.startsWith(DERBY)
        && !url.startsWith(DERBY_SERVER)
        && conf.get("hive.metastore.uris", "").isEmpty();
  }

  private CatalogTable get(ExternalCatalog catalog, String schema, String name) {
    String key = schema.toLowerCase(Locale.ROOT) + "." + name.toLowerCase(Locale.ROOT);
    long before;
    synchronized (this) {
      CatalogTable table = tables.get(key);
      if (table != null) return table;
      before = changes;
    }
    CatalogTable table = catalog.getTable(schema, name);
    synchronized (this) {
      if (before == changes) tables.put(key, table); // otherwise it may have been read before
    }
    return table;
  }

  private synchronized void clear() {
    changes++;
    tables.clear();
  }
}
