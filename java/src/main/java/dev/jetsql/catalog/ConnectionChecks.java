package dev.jetsql.catalog;

import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.connections.ConnectedTables;
import dev.jetsql.connections.ConnectionOptions;
import dev.jetsql.connections.Connections;
import dev.jetsql.connections.S3Buckets;
import dev.jetsql.connections.TableLocations;
import dev.jetsql.kafka.KafkaOptions;
import dev.jetsql.options.JdbcOptions;
import dev.jetsql.options.TableOptions;
import dev.jetsql.rights.Location;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;
import scala.jdk.javaapi.CollectionConverters;

/** Checks the options of a connection, and finds the tables that use one. */
public final class ConnectionChecks {
  private static final String REGISTRY = "avro.schema.registry.";

  private ConnectionChecks() {}

  /**
   * Returns what is wrong with the options of a connection, as a JSON object with `condition`,
   * `message` and `option`, or null.
   *
   * @param options a JSON object
   * @param state the secrets and connections, as they would be published
   */
  public static String problem(String type, String options, String state) {
    var given = new LinkedHashMap<String, String>();
    Json.readObject(options)
        .properties()
        .forEach(option -> given.put(option.getKey(), option.getValue().asText()));
    var name = "";
    try {
      var published = Connections.State.of(state);
      for (var option : given.entrySet()) {
        name = option.getKey();
        ConnectionOptions.check(type, name, given, published);
        checkOfSystem(type, name, given);
      }
      name = "";
      var address = ConnectionOptions.address(type);
      if (given.keySet().stream().noneMatch(address::equalsIgnoreCase))
        return json(
            "INVALID_OPTION_VALUE",
            "A connection of TYPE " + type + " needs the option '" + address + "'.",
            name);
      if (type.equals("s3")) S3Buckets.check(given, published);
    } catch (Exception e) { // Scala's errors are checked
      if (!(e instanceof JetSqlException error)) throw e;
      return json(error.getCondition().replace("JETSQL.", ""), text(error), name);
    }
    return null;
  }

  /**
   * Returns why a table cannot be used, as `problem` does, or null: its connection is missing, or
   * the owner of the table has no right on the connection or the location. A table that a statement
   * creates with its job does not exist yet.
   */
  public static String problemOfTable(SparkSession session, String schema, String name) {
    var catalog = session.sharedState().externalCatalog();
    if (!catalog.tableExists(schema, name)) return null;
    var table = catalog.getTable(schema, name);
    var location = TableLocations.refusal(session, table);
    if (location != null) return json("NOT_ALLOWED", location, "");
    try {
      ConnectedTables.options(TableOptions.format(table), table);
    } catch (Exception e) { // Scala's errors are checked
      if (!(e instanceof JetSqlException error)) throw e;
      return json(error.getCondition().replace("JETSQL.", ""), text(error), "");
    }
    return null;
  }

  private static void checkOfSystem(String type, String name, Map<String, String> options) {
    switch (type) {
      case "jdbc" -> JdbcOptions.checkOfConnection(name, options);
      case "s3" -> {} // ConnectionOptions has checked it
      case "kafka" -> KafkaOptions.checkOfConnection(name, options.get(name));
      default -> KafkaOptions.checkOfConnection(REGISTRY + name, options.get(name));
    }
  }

  /** Returns a message without its condition and SQLSTATE. */
  private static String text(JetSqlException error) {
    return error
        .getMessage()
        .replaceFirst("^\\[[\\w.]+\\] ", "")
        .replaceFirst(" SQLSTATE: \\w{5}[\\s\\S]*$", "")
        .replace(REGISTRY, "");
  }

  private static String json(String condition, String message, String option) {
    return Json.write(Map.of("condition", condition, "message", message, "option", option));
  }

  /**
   * Returns the qualified names of the tables with an option, as a JSON array.
   *
   * @param option `connection` also means that of a schema registry, and of the bucket that a table
   *     is in; empty for any option
   * @param value is compared without case
   */
  public static String tables(SparkSession session, String option, String value) {
    var catalog = session.sharedState().externalCatalog();
    var found = new TreeSet<String>();
    var bucket = option.equals(Connections.OPTION) ? Connections.location(value) : null;
    for (var schema : CollectionConverters.asJava(catalog.listDatabases()))
      for (var table :
          CollectionConverters.asJava(catalog.getTablesByName(schema, catalog.listTables(schema))))
        if (has(table, option, value) || isIn(session, table, bucket))
          found.add(String.join(".", Tables.CATALOG, schema, table.identifier().table()));
    return Json.write(found);
  }

  private static boolean isIn(SparkSession session, CatalogTable table, Location bucket) {
    var place = table.storage().locationUri();
    return bucket != null
        && place.isDefined()
        && bucket.covers(TableLocations.of(session, place.get()));
  }

  private static boolean has(CatalogTable table, String option, String value) {
    return CollectionConverters.asJava(table.storage().properties()).entrySet().stream()
        .anyMatch(
            each ->
                each.getValue().toLowerCase(Locale.ROOT).equals(value.toLowerCase(Locale.ROOT))
                    && (option.isEmpty()
                        || each.getKey().equalsIgnoreCase(option)
                        || (option.equals(Connections.OPTION)
                            && Connections.isName(each.getKey()))));
  }
}
