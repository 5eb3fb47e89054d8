package dev.jetsql.catalog;

import dev.jetsql.connections.Connections;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.CreateTable;
import scala.PartialFunction;
import scala.jdk.javaapi.CollectionConverters;

/** Replaces Spark's command that creates a JDBC table with a connection by JetSQL's. */
public final class ResolveConnectedTables extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperators(PartialFunction.fromFunction(ResolveConnectedTables::resolve));
  }

  private static LogicalPlan resolve(LogicalPlan node) {
    if (!(node instanceof CreateTable create)) return node;
    var table = create.tableDesc();
    if (table.provider().isEmpty() || !table.provider().get().equalsIgnoreCase("jdbc")) return node;
    if (!Connections.isUsed(CollectionConverters.asJava(table.storage().properties()))) return node;
    var query = create.query().isEmpty() ? null : create.query().get();
    if (query != null && !query.resolved()) return node;
    return new CreateConnectedTableCommand(table, create.mode() == SaveMode.Ignore, query);
  }
}
