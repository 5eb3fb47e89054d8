package dev.jetsql.plans;

import dev.jetsql.common.PartialFunctions;
import org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp;
import org.apache.spark.sql.catalyst.expressions.CurrentDate;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampLike;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;

/** Gives the current time of a batch to a plan that Spark does not run as a stream. */
public final class CurrentTimes {
  private CurrentTimes() {}

  /** Returns whether an expression is the current time, date or local time. */
  public static boolean isCurrent(Expression value) {
    return value instanceof CurrentTimestampLike
        || value instanceof CurrentDate
        || value instanceof LocalTimestamp;
  }

  /** Returns a plan whose current time, date and local time are those of a time since the epoch. */
  public static LogicalPlan at(long millis, LogicalPlan plan) {
    return plan.transformAllExpressionsWithSubqueries(
        PartialFunctions.<Expression, Expression>of(
            CurrentTimes::isCurrent,
            node -> {
              var zone =
                  node instanceof TimeZoneAwareExpression aware
                      ? aware.timeZoneId()
                      : Option.<String>empty();
              return new CurrentBatchTimestamp(millis, node.dataType(), zone).toLiteral();
            }));
  }
}
