package dev.jetsql.catalog;

import java.util.List;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CachedData;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows that Spark keeps for a table, because of CACHE TABLE, and for queries over the table.
 *
 * <p>Spark finds the kept rows by the plan of a query, which contains the table's folder. When the
 * folder changes, no query can find the rows any more, and neither can UNCACHE TABLE.
 */
final class CachedTable {
  private final SparkSession session;
  private final List<String> name;
  private final Option<CachedData> data;

  private CachedTable(SparkSession session, List<String> name, Option<CachedData> data) {
    this.session = session;
    this.name = name;
    this.data = data;
  }

  /** Finds the kept rows of a table while its folder is still the old one. */
  static CachedTable of(SparkSession session, String schema, String table) {
    var name = List.of(Tables.CATALOG, schema, table);
    var data = session.sharedState().cacheManager().lookupCachedData(rows(session, name));
    return new CachedTable(session, name, data);
  }

  /**
   * Removes all kept rows. Those of CACHE TABLE are read from the new folder when a query needs
   * them.
   */
  void replace() {
    var cache = session.sharedState().cacheManager();
    cache.uncacheTableOrView(session, CollectionConverters.asScala(name).toSeq(), true, false);
    if (data.isEmpty()) return;
    var builder = data.get().cachedRepresentation().cacheBuilder();
    cache.cacheQuery(rows(session, name), builder.tableName(), builder.storageLevel());
  }

  private static Dataset<?> rows(SparkSession session, List<String> name) {
    return session.table(String.join(".", name.stream().map(Tables::quoted).toList()));
  }
}
