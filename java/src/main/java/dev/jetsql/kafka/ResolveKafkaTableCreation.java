package dev.jetsql.kafka;

import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.CreateTable;
import scala.PartialFunction;

/**
 * Replaces Spark's command that creates a Kafka table by JetSQL's, after the query of the statement
 * is resolved.
 */
public final class ResolveKafkaTableCreation extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperators(PartialFunction.fromFunction(ResolveKafkaTableCreation::resolve));
  }

  private static LogicalPlan resolve(LogicalPlan node) {
    if (!(node instanceof CreateTable create) || !KafkaTable.isKafka(create.tableDesc()))
      return node;
    LogicalPlan query = create.query().isEmpty() ? null : create.query().get();
    if (query != null && !query.resolved()) return node;
    return new CreateKafkaTableCommand(create.tableDesc(), create.mode() == SaveMode.Ignore, query);
  }
}
