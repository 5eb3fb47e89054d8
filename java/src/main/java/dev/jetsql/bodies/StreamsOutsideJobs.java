package dev.jetsql.bodies;

import dev.jetsql.common.CreateExternalTable;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Refuses an INSERT that reads a stream outside of a job. Spark would refuse it as well, but
 * without the hint to create a job.
 */
public final class StreamsOutsideJobs extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    if (!JobContext.isAnalyzing() && plan instanceof Command && isStreaming(plan)) {
      throw Exceptions.raise(
          JetSqlException.of(
              "STREAM_OUTSIDE_JOB",
              "0A000",
              "An INSERT that reads a stream does not end, so it must run as a job. Write CREATE"
                  + " JOB name AS INSERT INTO ..."));
    }
    return BoxedUnit.UNIT;
  }

  private static boolean isStreaming(LogicalPlan plan) {
    if (plan instanceof InsertIntoDataSourceCommand insert) return insert.query().isStreaming();
    if (plan instanceof CreateExternalTable create) return create.readsStream();
    return plan.getClass().getSimpleName().startsWith("InsertInto") && plan.isStreaming();
  }
}
