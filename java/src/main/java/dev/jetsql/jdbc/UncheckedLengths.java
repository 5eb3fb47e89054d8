package dev.jetsql.jdbc;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;

/**
 * Rows of an INSERT without the checks by which Spark fails a query for a text that is too long for
 * the column: the database refuses the row.
 */
public final class UncheckedLengths {
  private static final Set<String> CHECKS =
      Set.of("charTypeWriteSideCheck", "varcharTypeWriteSideCheck");

  private UncheckedLengths() {}

  public static Dataset<Row> of(Dataset<Row> rows) {
    var plan = rows.queryExecution().analyzed();
    return ApprovedPlans.call(() -> Dataset.ofRows(rows.sparkSession(), unchecked(plan)));
  }

  /** Removes the checks from the projections at the top of a plan, where INSERT has added them. */
  private static LogicalPlan unchecked(LogicalPlan plan) {
    if (!(plan instanceof Project project)) return plan;
    var columns = new ArrayList<NamedExpression>();
    for (var column : Plans.list(project.projectList()))
      columns.add((NamedExpression) unchecked((Expression) column));
    return new Project(Sequences.of(columns), unchecked(project.child()));
  }

  private static Expression unchecked(Expression column) {
    return column.transformUp(
        PartialFunctions.of(
            each -> each instanceof StaticInvoke call && CHECKS.contains(call.functionName()),
            each -> ((StaticInvoke) each).arguments().head()));
  }
}
