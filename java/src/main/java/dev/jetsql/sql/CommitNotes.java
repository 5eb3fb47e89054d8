package dev.jetsql.sql;

import dev.jetsql.common.Json;
import dev.jetsql.common.Members;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The notes in the snapshots of Iceberg tables: which batch of which job a snapshot has added. For
 * those of Delta see `DeltaAppends`.
 */
public final class CommitNotes {
  /** No batch, or no snapshot. */
  public static final long NONE = -1L;

  /** The key of the writer's id in the summary of a snapshot. */
  public static final String WRITER = "jetsql.job";

  /** The key of the batch's number in the summary of a snapshot. */
  public static final String BATCH = "jetsql.batch";

  private CommitNotes() {}

  /**
   * Looks for the newest batch of a writer in the history of an Iceberg table, and returns a JSON
   * object: "snapshot" is the current snapshot, "batch" the newest batch, "rows" the number of rows
   * that it has added, and "complete" says whether no part of the history up to the end of the
   * search has expired.
   *
   * @param until the snapshot at which the search ends; `NONE` for the first one of the table
   */
  public static String inIceberg(SparkSession session, String parts, String writer, long until) {
    var table = Members.call(load(session, parts), "table");
    var found = Json.MAPPER.createObjectNode();
    var snapshot = Members.call(table, "currentSnapshot");
    found.put("snapshot", snapshot == null ? NONE : (Long) Members.call(snapshot, "snapshotId"));
    var batch = NONE;
    var complete = false;
    while (batch == NONE && !complete) {
      if (snapshot == null) {
        complete = until == NONE;
        break;
      }
      batch = batchOf(snapshot, writer);
      if (batch != NONE) found.put("rows", addedRows(snapshot));
      complete = until != NONE && until == (Long) Members.call(snapshot, "snapshotId");
      var parent = Members.call(snapshot, "parentId");
      if (parent == null) {
        complete = complete || until == NONE;
        break;
      }
      snapshot = Members.call(table, "snapshot", parent);
      if (snapshot == null) break;
    }
    found.put("batch", batch);
    found.put("complete", complete);
    return Json.write(found);
  }

  private static Long addedRows(Object snapshot) {
    var rows = ((Map<?, ?>) Members.call(snapshot, "summary")).get("added-records");
    return rows == null ? 0L : Long.valueOf(rows.toString());
  }

  private static long batchOf(Object snapshot, String writer) {
    var summary = (Map<?, ?>) Members.call(snapshot, "summary");
    return summary != null && writer.equals(summary.get(WRITER))
        ? Long.parseLong(summary.get(BATCH).toString())
        : NONE;
  }

  /** Returns a table as it is now, without the cache of its catalog. */
  static Table load(SparkSession session, String parts) {
    var names = Json.readTexts(parts);
    var identifier = CatalogTables.identifier(names.subList(1, names.size()));
    if (SparkCalls.catalog(session, names.get(0)) instanceof TableCatalog catalog)
      catalog.invalidateTable(identifier);
    return CatalogTables.load(session, names.get(0), identifier);
  }

  /**
   * Makes a session load a table again, which its catalog may have cached, if a job has written the
   * table since the session has read it.
   */
  static void refresh(SparkSession session, Seq<String> name) {
    var names = CollectionConverters.asJava(name);
    var catalog = SparkCalls.catalog(session, names.get(0));
    if (names.size() == 1 || !(catalog instanceof TableCatalog)) {
      var current = new ArrayList<String>();
      current.add(SparkCalls.currentCatalog(session));
      if (names.size() == 1) current.addAll(SparkCalls.currentNamespace(session));
      current.addAll(names);
      names = current;
      catalog = SparkCalls.catalog(session, names.get(0));
    }
    if (names.size() < 2 || !(catalog instanceof TableCatalog tables)) return;
    var identifier = CatalogTables.identifier(names.subList(1, names.size()));
    var key = CatalogTables.name(names.get(0), identifier).toLowerCase(Locale.ROOT);
    if (TableVersions.hasChanged(session.sessionState().catalog(), key))
      tables.invalidateTable(identifier);
  }
}
