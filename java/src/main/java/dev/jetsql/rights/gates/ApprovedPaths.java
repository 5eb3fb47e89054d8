package dev.jetsql.rights.gates;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The folders of the tables that a session creates with the rows of a query. Spark writes the rows
 * with a second plan, which has the folder and not the table.
 */
final class ApprovedPaths {
  private static final Map<SparkSession, Path> paths =
      Collections.synchronizedMap(new WeakHashMap<>());

  private ApprovedPaths() {}

  /** Allows the session to write into the folder that a new table will have. */
  static void add(SparkSession session, TableIdentifier table) {
    paths.put(session, new Path(session.sessionState().catalog().defaultTablePath(table)));
  }

  static boolean has(SparkSession session, Path path) {
    var approved = paths.get(session);
    return approved != null && approved.toUri().getPath().equals(path.toUri().getPath());
  }
}
