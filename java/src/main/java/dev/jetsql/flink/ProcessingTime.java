package dev.jetsql.flink;

import dev.jetsql.common.PartialFunctions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestamp;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;

/**
 * Resolves `PROCTIME()`: the time at which a batch begins, as `current_timestamp()`. A function of
 * the user with this name goes first.
 */
public final class ProcessingTime extends Rule<LogicalPlan> {
  private static final String NAME = "proctime";

  private final SparkSession session;

  public ProcessingTime(SparkSession session) {
    this.session = session;
  }

  static boolean isName(String word) {
    return word.equalsIgnoreCase(NAME);
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveExpressions(
        PartialFunctions.<Expression, Expression>of(this::isCall, call -> new CurrentTimestamp()));
  }

  private boolean isCall(Expression expression) {
    return expression instanceof UnresolvedFunction call
        && call.nameParts().size() == 1
        && isName(call.nameParts().head())
        && call.arguments().isEmpty()
        && !session
            .sessionState()
            .catalog()
            .functionExists(
                new FunctionIdentifier(call.nameParts().head(), Option.empty(), Option.empty()));
  }
}
