package dev.jetsql.kafka;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import scala.PartialFunction;

/** Replace each Kafka table of a query by its source, once all names are resolved. */
public final class ResolveKafkaReads extends Rule<LogicalPlan> {
  private final SparkSession session;

  public ResolveKafkaReads(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperators(PartialFunction.fromFunction(this::resolve));
  }

  private LogicalPlan resolve(LogicalPlan node) {
    if (node instanceof KafkaRead read) return read.withSource();
    if (!(node instanceof InsertIntoDataSourceCommand insert)) return node;
    LogicalPlan query = apply(insert.query()); // the query is none of the command's children
    // Spark no longer checks the query of such a command: an unknown name would fail without a
    // proper message.
    if (!query.resolved()) session.sessionState().analyzer().checkAnalysis(query);
    return query == insert.query()
        ? insert
        : insert.copy(insert.logicalRelation(), query, insert.overwrite());
  }
}
