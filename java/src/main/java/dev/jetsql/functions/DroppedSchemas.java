package dev.jetsql.functions;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.util.Locale;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedNamespace;
import org.apache.spark.sql.catalyst.catalog.DropDatabaseEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEventListener;
import org.apache.spark.sql.catalyst.plans.logical.DropNamespace;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * DROP SCHEMA for a schema with functions in Python: it drops them with CASCADE, and is refused
 * otherwise, as for Spark's own functions.
 */
public final class DroppedSchemas implements ExternalCatalogEventListener {
  @Override
  public void onEvent(ExternalCatalogEvent event) {
    if (!(event instanceof DropDatabaseEvent dropped)) return;
    for (var function : PythonFunctions.all()) {
      if (function.schema().equalsIgnoreCase(dropped.database()))
        PythonFunctions.drop(
            SparkSession.active(), function.schema(), function.name(), /* ifExists= */ true);
    }
  }

  /** Refuses DROP SCHEMA without CASCADE for a schema with functions in Python. */
  static void check(LogicalPlan plan) {
    if (!(plan instanceof DropNamespace drop) || drop.cascade()) return;
    if (!(drop.namespace() instanceof UnresolvedNamespace named)) return;
    var name = named.multipartIdentifier();
    var inCatalog =
        name.size() == 1
            || (name.size() == 2 && name.head().equalsIgnoreCase(PythonFunctions.CATALOG));
    if (!inCatalog) return;
    var schema = name.last().toLowerCase(Locale.ROOT);
    for (var function : PythonFunctions.all()) {
      if (!function.schema().toLowerCase(Locale.ROOT).equals(schema)) continue;
      throw Exceptions.raise(
          JetSqlException.at(
              named.origin(),
              "SCHEMA_NOT_EMPTY",
              "2BP01",
              "Cannot drop the schema "
                  + name.last()
                  + ": it has the function "
                  + function.name()
                  + ". Use DROP SCHEMA ... CASCADE to drop its tables and functions too."));
    }
  }
}
