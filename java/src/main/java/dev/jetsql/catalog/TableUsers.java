package dev.jetsql.catalog;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * Refuses to drop, rename, move or replace a table that a running job reads as a stream or writes.
 * Spark has no dependencies of tables: the job would fail with its next batch or continue with the
 * files of the old table, and its state could not be used with a new table of the same name.
 */
public final class TableUsers {
  private static volatile BiFunction<Object, String, Object> engine;

  private TableUsers() {}

  /**
   * Sets the function that finds the jobs; null removes it. Its arguments are null and a JSON
   * object {"action", "schema", "table"}, where "action" is the verb of the statement, the schema
   * is a list of names from the catalog on, and the table is null for all tables of the schema. It
   * returns null or {"refusal": text}.
   */
  public static void connect(BiFunction<Object, String, Object> findUsers) {
    engine = findUsers;
  }

  /** Throws an error at `origin` if running jobs use the table, or a table of the schema. */
  static void refuse(Origin origin, String action, List<String> schema, String table) {
    var function = engine;
    if (function == null) return;
    var request = Json.MAPPER.createObjectNode();
    request.put("action", action).put("table", table);
    request.set("schema", Json.MAPPER.valueToTree(schema));
    var response = PythonResponses.of(PythonCalls.ask(function, null, Json.write(request)));
    if (response == null) return;
    throw Exceptions.raise(
        JetSqlException.at(origin, "TABLE_IN_USE", "55006", response.get("refusal").asText()));
  }
}
