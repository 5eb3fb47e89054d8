package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refreshes the static side of a streaming join at the start of each batch: this rule runs once in
 * the planning of each. Spark alone keeps the list of files with which the query began.
 */
final class StaticSides extends Rule<LogicalPlan> {
  private final SparkSession session;

  StaticSides(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!session.sessionState().conf().contains(JobContext.JOB_CONF)) return plan;
    for (var leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      if (leaf instanceof LogicalRelation table && !table.isStreaming()) refresh(table);
    }
    return plan;
  }

  private void refresh(LogicalRelation table) {
    if (!(table.relation() instanceof HadoopFsRelation files)) return;
    if (table.catalogTable().isDefined()) checkUnchanged(table.catalogTable().get());
    files.location().refresh();
  }

  private void checkUnchanged(CatalogTable then) {
    var name = then.identifier();
    var catalog = session.sessionState().catalog();
    if (!catalog.tableExists(name)) throw changed(name, "JOB_CHANGED", "is gone");
    CatalogTable now;
    try {
      now = catalog.getTableMetadata(name);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
    if (now.createTime() != then.createTime()
        || !now.storage().locationUri().equals(then.storage().locationUri())) {
      throw changed(name, "SIDE_TABLE_REPLACED", "was replaced");
    }
  }

  private static RuntimeException changed(TableIdentifier name, String condition, String what) {
    var message =
        "The table "
            + name.unquotedString()
            + ", which the job reads beside its stream, "
            + what
            + ".";
    return Exceptions.raise(JetSqlException.of(condition, "55000", message));
  }
}
