package dev.jetsql.catalog;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.options.TableOptions;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tables of a unit test that stand in for tables of databases and lakes: Spark has them as tables
 * of files, and the planner of jobs sees the formats that their statements name.
 */
public final class StandInTables {
  /** The property with the format that the statement of the table names. */
  public static final String PROVIDER = TableOptions.STAND_IN;

  private static final List<String> PROVIDERS = List.of("jdbc", "delta", "iceberg");

  private StandInTables() {}

  /** Returns whether tables of a format need a database or a connector. */
  public static boolean needsStandIn(String provider) {
    return PROVIDERS.contains(provider.toLowerCase(Locale.ROOT));
  }

  /** Changes the facts of a table to those of the table that it stands in for. */
  static void describe(CatalogTable table, ObjectNode facts) {
    Map<String, String> properties = CollectionConverters.asJava(table.properties());
    var provider = properties.get(PROVIDER);
    if (provider == null) return;
    facts.put("provider", provider);
    facts.put("stands_in", true);
    if (!provider.equals("jdbc")) facts.put("identity", facts.get("table").asText());
    var options = (ObjectNode) facts.get("options");
    if (properties.containsKey("key.columns"))
      options.put("key.columns", properties.get("key.columns"));
  }
}
