package dev.jetsql.rewrites.changes;

import dev.jetsql.plans.Plans;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.collection.immutable.Seq;

/** Finds aggregates over changes whose groups never lose their last row. */
final class LastingGroups {
  private LastingGroups() {}

  /** Returns whether a group of an aggregate over changes can have no rows any more. */
  static boolean canBecomeEmpty(Aggregate aggregate) {
    var columns = new HashSet<ExprId>();
    Plans.list(aggregate.groupingExpressions()).forEach(group -> addColumns(group, columns));
    return !keepValues(aggregate.child(), columns);
  }

  /**
   * Returns whether values of columns that are in a row are in a row after each later batch: they
   * are grouping columns of aggregates over rows of streams, which are never taken back.
   */
  private static boolean keepValues(LogicalPlan node, Set<ExprId> columns) {
    if (columns.isEmpty() || !AggregateChanges.hasChanges(node)) return true;
    if (node instanceof Project project)
      return keepValues(project.child(), columnsBelow(project.projectList(), columns));
    if (node instanceof Filter filter) {
      var read = new HashSet<>(columns);
      addColumns(filter.condition(), read);
      return keepValues(filter.child(), read);
    }
    if (!(node instanceof Aggregate aggregate)) return false;
    var isOfGroup =
        Plans.list(aggregate.aggregateExpressions()).stream()
            .filter(column -> columns.contains(column.exprId()))
            .noneMatch(
                column ->
                    AggregateChanges.valueOf(column).exists(AggregateExpression.class::isInstance));
    return isOfGroup
        && keepValues(aggregate.child(), columnsBelow(aggregate.aggregateExpressions(), columns));
  }

  /** Returns the columns from which others are computed. */
  private static Set<ExprId> columnsBelow(
      Seq<? extends NamedExpression> computed, Set<ExprId> columns) {
    var below = new HashSet<ExprId>();
    for (var column : Plans.list(computed))
      if (columns.contains(column.exprId())) addColumns(AggregateChanges.valueOf(column), below);
    return below;
  }

  private static void addColumns(Expression expression, Set<ExprId> columns) {
    columns.addAll(
        Plans.list(expression.references().toSeq()).stream()
            .map(Attribute::exprId)
            .collect(Collectors.toSet()));
  }
}
