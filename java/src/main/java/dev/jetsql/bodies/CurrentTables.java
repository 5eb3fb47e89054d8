package dev.jetsql.bodies;

import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.versions.CaseClasses;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * Loads the tables of catalogs that a job reads next to its stream again for each batch; Spark runs
 * this rule once for a batch, before it plans the reads. Without the rule, a table of Iceberg would
 * stay as it was at the query's start. `StaticSides` does the same for Spark's own tables.
 */
public final class CurrentTables extends Rule<LogicalPlan> {
  private final SparkSession session;

  public CurrentTables(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!session.sessionState().conf().contains(JobContext.JOB_CONF)) return plan;
    return plan.transformWithSubqueries(
        PartialFunctions.of(
            node ->
                node instanceof DataSourceV2Relation read
                    && read.identifier().isDefined()
                    && read.timeTravelSpec().isEmpty()
                    && read.catalog().isDefined()
                    && read.catalog().get() instanceof TableCatalog
                    && isRead(read),
            node -> current((DataSourceV2Relation) node)));
  }

  /** Returns whether a relation only reads a table, and is not the one that a MERGE changes. */
  private static boolean isRead(DataSourceV2Relation relation) {
    return !(relation.table() instanceof RowLevelOperationTable);
  }

  private static LogicalPlan current(DataSourceV2Relation read) {
    var catalog = (TableCatalog) read.catalog().get();
    var name = CatalogTables.name(catalog.name(), read.identifier().get());
    var table = CatalogTables.load(catalog, read.identifier().get());
    if (table == null) throw StaticSides.dropped(name);
    if (!CatalogTables.identity(table).equals(CatalogTables.identity(read.table())))
      throw StaticSides.replaced(name);
    return CaseClasses.copy(read, Map.of("table", table));
  }
}
