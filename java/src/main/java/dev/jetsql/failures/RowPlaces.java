package dev.jetsql.failures;

import dev.jetsql.common.JobContext;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.datasources.WriteFilesExec;
import org.apache.spark.sql.execution.exchange.Exchange;

/**
 * Makes the tasks of jobs that read a source say what they were reading when they fail. Spark's
 * errors for a row, such as a division by zero, name neither the row nor its file.
 *
 * <p>The operator is at the top of a stage, so it does not divide generated code.
 */
public final class RowPlaces extends ColumnarRule {
  private final Rule<SparkPlan> rule;

  /** Creates the rule of a session. Only the sessions of jobs are changed. */
  public RowPlaces(SparkSession session) {
    this.rule = new AddPlaces(session);
  }

  @Override
  public Rule<SparkPlan> postColumnarTransitions() {
    return rule;
  }

  private static final class AddPlaces extends Rule<SparkPlan> {
    private final SparkSession session;

    private AddPlaces(SparkSession session) {
      this.session = session;
    }

    @Override
    public SparkPlan apply(SparkPlan plan) {
      boolean isJob = session.sessionState().conf().contains(JobContext.JOB_CONF);
      if (!isJob || isRealTime(plan)) return plan;
      SparkPlan changed =
          plan.transformUp(PartialFunctions.of(AddPlaces::endsStage, AddPlaces::addBelow));
      if (endsStage(changed)) return changed;
      return changed.output().isEmpty() ? addBelow(changed) : add(changed);
    }

    /** Returns whether a plan is for the real-time mode, in which Spark runs only its operators. */
    private static boolean isRealTime(SparkPlan plan) {
      return Plans.list(plan.collectLeaves()).stream()
          .anyMatch(leaf -> leaf.getClass().getSimpleName().equals("RealTimeStreamScanExec"));
    }

    /** Returns whether tasks pass the rows of the operator's children on, or gather them. */
    private static boolean endsStage(SparkPlan plan) {
      return plan instanceof Exchange
          || plan instanceof CoalesceExec
          || plan instanceof UnionExec
          || plan instanceof WriteFilesExec;
    }

    private static SparkPlan addBelow(SparkPlan plan) {
      var children = Plans.list(plan.children()).stream().map(AddPlaces::add).toList();
      return plan.withNewChildren(Sequences.of(children));
    }

    private static SparkPlan add(SparkPlan plan) {
      return !plan.supportsColumnar() && reads(plan) ? new RowPlaceExec(plan) : plan;
    }

    /**
     * Returns whether the tasks of an operator read a source, and do not say yet what they read.
     */
    private static boolean reads(SparkPlan plan) {
      return RowPlaceExec.isScan(plan)
          || (!(plan instanceof RowPlaceExec || endsStage(plan))
              && Plans.list(plan.children()).stream().anyMatch(AddPlaces::reads));
    }
  }
}
