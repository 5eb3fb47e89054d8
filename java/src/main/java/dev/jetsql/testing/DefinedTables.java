package dev.jetsql.testing;

import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The tables and views of one session's catalogue, to create them in other sessions without
 * analysing their statements again.
 */
public final class DefinedTables {
  private static final String SCHEMA = "default";

  private final List<CatalogTable> tables;

  private DefinedTables(List<CatalogTable> tables) {
    this.tables = tables;
  }

  /** Returns the tables and views in the schema `default` of a session. */
  public static DefinedTables of(SparkSession session) {
    var catalog = session.sharedState().externalCatalog();
    var tables = new ArrayList<CatalogTable>();
    for (var table :
        CollectionConverters.asJava(catalog.getTablesByName(SCHEMA, catalog.listTables(SCHEMA)))) {
      tables.add(
          table.tableType().equals(CatalogTableType.MANAGED()) ? withoutFolder(table) : table);
    }
    return new DefinedTables(List.copyOf(tables));
  }

  /** Returns a table whose folder the catalogue chooses when it creates the table. */
  private static CatalogTable withoutFolder(CatalogTable table) {
    return CaseClasses.copy(
        table,
        Map.of(
            "storage", CaseClasses.copy(table.storage(), Map.of("locationUri", Option.empty()))));
  }

  /** Creates the tables and views in a session, whose catalogue is empty. */
  public void createIn(SparkSession session) {
    var catalog = session.sharedState().externalCatalog();
    tables.forEach(table -> catalog.createTable(table, false));
  }
}
