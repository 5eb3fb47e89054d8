package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import dev.jetsql.kafka.CreateKafkaTableCommand;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Refuses an INSERT over a stream outside a job, which Spark refuses as well, with the hint to make
 * a job of it.
 */
final class StreamsOutsideJobs extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    if (!JobContext.isAnalyzing() && plan instanceof Command && isStreaming(plan)) {
      throw Exceptions.raise(
          JetSqlException.of(
              "STREAM_OUTSIDE_JOB",
              "0A000",
              "An INSERT over a stream runs for as long as the stream does, so it must be a job."
                  + " Write CREATE JOB name AS INSERT INTO ... in front of it."));
    }
    return BoxedUnit.UNIT;
  }

  private static boolean isStreaming(LogicalPlan plan) {
    if (plan instanceof InsertIntoDataSourceCommand insert) return insert.query().isStreaming();
    if (plan instanceof CreateKafkaTableCommand create) return create.readsStream();
    return plan.getClass().getSimpleName().startsWith("InsertInto") && plan.isStreaming();
  }
}
