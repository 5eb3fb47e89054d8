package dev.jetsql.watchdog;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec;
import org.apache.spark.sql.execution.joins.CartesianProductExec;

/**
 * Makes the tasks end that can fill the heap or a disk, when their job is cancelled: those that
 * collect values (such as `collect_list`), and those that multiply rows.
 *
 * <p>Without this, a task that has been cancelled continues to the end of a thousand rows, or of
 * its input. If the heap is full, that takes longer than the heap lasts. Both operators are outside
 * of generated code, so the check costs little.
 */
public final class InterruptibleTasks extends ColumnarRule {
  private final Rule<SparkPlan> rule = new AddChecks();

  @Override
  public Rule<SparkPlan> postColumnarTransitions() {
    return rule;
  }

  private static final class AddChecks extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      return plan.transformUp(PartialFunctions.of(AddChecks::needsCheck, AddChecks::addCheck));
    }

    private static boolean needsCheck(SparkPlan plan) {
      return plan instanceof CartesianProductExec
          || (plan instanceof ObjectHashAggregateExec aggregate
              && !(aggregate.child() instanceof InterruptibleExec));
    }

    private static SparkPlan addCheck(SparkPlan plan) {
      if (!(plan instanceof ObjectHashAggregateExec aggregate)) return new InterruptibleExec(plan);
      return aggregate.withNewChildren(Sequences.of(new InterruptibleExec(aggregate.child())));
    }
  }
}
