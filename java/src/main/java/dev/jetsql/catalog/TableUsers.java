package dev.jetsql.catalog;

import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * Refuses to drop, rename, move or replace a table that a running job reads as a stream or writes.
 * Spark has no dependencies of tables: the job would fail with its next batch or continue with the
 * files of the old table, and its state could not be used with a new table of the same name.
 */
public final class TableUsers {
  private TableUsers() {}

  /** Throws an error at `origin` if running jobs use the table, or a table of the schema. */
  static void refuse(Origin origin, String action, List<String> schema, String table) {
    if (!EngineCallback.isConnected()) return;
    var request = new HashMap<String, Object>();
    request.put("action", action);
    request.put("schema", schema);
    request.put("table", table);
    var refusal = EngineCallback.REFUSE_CHANGE.ask(null, request).asText();
    if (refusal.isEmpty()) return;
    throw Exceptions.raise(JetSqlException.at(origin, "TABLE_IN_USE", "55006", refusal));
  }
}
