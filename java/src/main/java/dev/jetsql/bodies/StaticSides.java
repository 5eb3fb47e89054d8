package dev.jetsql.bodies;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refreshes the static tables of a job at the start of each batch; Spark runs this rule once when
 * it plans a batch. Without the rule, Spark would keep the file lists of the query's start.
 */
public final class StaticSides extends Rule<LogicalPlan> {
  private final SparkSession session;

  public StaticSides(SparkSession session) {
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

  private void checkUnchanged(CatalogTable planned) {
    var name = planned.identifier();
    var catalog = session.sessionState().catalog();
    if (!catalog.tableExists(name)) throw dropped(name.unquotedString());
    CatalogTable current;
    try {
      current = catalog.getTableMetadata(name);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
    if (current.createTime() != planned.createTime()
        || !current.storage().locationUri().equals(planned.storage().locationUri())) {
      throw replaced(name.unquotedString());
    }
  }

  /** Returns the error of a job whose static table was dropped. */
  static RuntimeException dropped(String name) {
    return changed(name, "JOB_CHANGED", "no longer exists");
  }

  /** Returns the error that restarts a job whose static table was replaced. */
  static RuntimeException replaced(String name) {
    return changed(name, "SIDE_TABLE_REPLACED", "was replaced");
  }

  private static RuntimeException changed(String name, String condition, String change) {
    var message =
        "The table " + name + ", which the job reads in addition to its stream, " + change + ".";
    return Exceptions.raise(JetSqlException.of(condition, "55000", message));
  }
}
