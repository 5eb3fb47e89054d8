package dev.jetsql.connections;

import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Secrets;
import dev.jetsql.rights.Rights;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import scala.jdk.javaapi.CollectionConverters;

/** The options of tables in the catalog, together with those of their connections. */
public final class ConnectedTables {
  private ConnectedTables() {}

  /**
   * Returns the options of a table, see `Connections.merged`. Refuses those of a table whose owner
   * may not use what they name: a connection needs USAGE, and files and variables need ADMIN. Users
   * who read the table need neither.
   *
   * @param format of the table, in lower case
   */
  public static Map<String, String> options(String format, CatalogTable table) {
    var options = CollectionConverters.asJava(table.storage().properties());
    checkOwner(table, options);
    return Connections.merged(format, options);
  }

  /**
   * Returns the options of a table as `options` does, or those without references if that throws an
   * error: a table can be dropped and described whose connection cannot be used.
   */
  public static Map<String, String> usableOptions(String format, CatalogTable table) {
    try {
      return options(format, table);
    } catch (Exception e) { // JetSQL's errors are checked
      if (!(e instanceof JetSqlException)) throw e;
      var usable = new HashMap<>(CollectionConverters.asJava(table.storage().properties()));
      usable.values().removeIf(Secrets::isReference);
      return usable;
    }
  }

  private static void checkOwner(CatalogTable table, Map<String, String> options) {
    var rights = Rights.current();
    var schema = table.identifier().database();
    if (rights == null || schema.isEmpty()) return;
    var name = List.of("spark_catalog", schema.get(), table.identifier().table());
    var owner = rights.viewOwner(name);
    if (rights.isAdmin(owner)) return;
    var shown = String.join(".", name);
    if (options.values().stream().anyMatch(NamedSecrets::isPlace))
      throw refusal(
          "The options of "
              + shown
              + " name a secret by its file or variable, which only the table of an ADMIN may. Its"
              + " owner is "
              + owner
              + ". Use a connection.");
    for (var connection : Connections.names(options))
      if (!rights.allowsConnection(owner, connection))
        throw refusal(
            "The owner of "
                + shown
                + ", "
                + owner
                + ", has no right USAGE on the connection of the table. An ADMIN can GRANT it.");
  }

  private static RuntimeException refusal(String message) {
    return Connections.refusal("NOT_ALLOWED", "42501", message);
  }
}
