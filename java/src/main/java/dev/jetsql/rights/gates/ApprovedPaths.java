package dev.jetsql.rights.gates;

import dev.jetsql.connections.TableLocations;
import dev.jetsql.rights.Location;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The folders of the tables that a session creates with the rows of a query. Spark writes the rows
 * with a second plan, which has the folder and not the table.
 */
final class ApprovedPaths {
  private static final Map<SparkSession, Location> paths =
      Collections.synchronizedMap(new WeakHashMap<>());

  private ApprovedPaths() {}

  /** Allows the session to write into the folder that a new table will have. */
  static void add(SparkSession session, CatalogTable table) {
    var given = table.storage().locationUri();
    var catalog = session.sessionState().catalog();
    var folder = given.isDefined() ? given.get() : catalog.defaultTablePath(table.identifier());
    paths.put(session, TableLocations.of(session, folder));
  }

  static boolean has(SparkSession session, Path path) {
    var approved = paths.get(session);
    return approved != null && approved.equals(TableLocations.of(session, path.toUri()));
  }
}
