package dev.jetsql.plans;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.StatefulProcessor;

/** An operator with state of a {@link RewriteRule}. */
public abstract class RuleProcessor extends StatefulProcessor<Row, Row, Row> {
  private static final long serialVersionUID = 1;

  /** Returns the processor of a node, or null for any other operator. */
  public static RuleProcessor of(LogicalPlan node) {
    return node instanceof TransformWithState operator
            && (Object) operator.statefulProcessor() instanceof RuleProcessor processor
        ? processor
        : null;
  }

  /** Returns the processor of a node, or null for any other operator. */
  public static RuleProcessor of(SparkPlan node) {
    return node instanceof TransformWithStateExec operator
            && (Object) operator.statefulProcessor() instanceof RuleProcessor processor
        ? processor
        : null;
  }

  /** Returns the expressions that the state depends on. */
  public abstract List<Expression> stateExpressions();

  /** Returns the rows that the processor keeps, in words. */
  public abstract String state();

  /** Returns the rows that nothing removes, a phrase, or null if there are none. */
  public abstract String keptForEver();

  protected static List<Row> read(ListState<Row> state) {
    var rows = new ArrayList<Row>();
    var all = state.get();
    while (all.hasNext()) rows.add(all.next());
    return rows;
  }
}
