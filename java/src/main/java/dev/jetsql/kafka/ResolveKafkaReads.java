package dev.jetsql.kafka;

import dev.jetsql.plans.Plans;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import scala.PartialFunction;

/** Replaces each Kafka table in a query by its source, after all names are resolved. */
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
    return Plans.withQuery(
        insert,
        written -> {
          var query = apply(written);
          // Spark does not check the query of this command later: an unknown name would fail with
          // an internal error.
          if (!query.resolved()) session.sessionState().analyzer().checkAnalysis(query);
          return query;
        });
  }
}
