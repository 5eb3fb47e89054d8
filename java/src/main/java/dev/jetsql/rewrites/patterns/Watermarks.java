package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.plans.Plans;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.SimplifyCasts$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Finds the columns with a WATERMARK below views, which cast their columns to the same types. */
final class Watermarks {
  private Watermarks() {}

  /** Returns whether a column of a plan is one with a WATERMARK. */
  static boolean isOn(Expression column, LogicalPlan plan) {
    if (Plans.hasWatermark(column)) return true;
    if (column instanceof Cast cast)
      return cast.child().dataType().equals(cast.dataType()) && isOn(cast.child(), plan);
    if (!(column instanceof Attribute attribute)) return false;
    return plan.exists(
        node ->
            Plans.list(node.expressions()).stream()
                .anyMatch(
                    each ->
                        each instanceof Alias alias
                            && alias.exprId().equals(attribute.exprId())
                            && isOn(alias.child(), node)));
  }

  /** Returns a plan whose columns have the marks of the columns that they are copies of. */
  static LogicalPlan restored(LogicalPlan plan) {
    return SimplifyCasts$.MODULE$
        .apply(plan)
        .transformUp(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(node -> true, Watermarks::marked));
  }

  private static LogicalPlan marked(LogicalPlan node) {
    return node.transformExpressions(
        PartialFunctions.<Expression, Expression>of(
            AttributeReference.class::isInstance, name -> marked((Attribute) name, node)));
  }

  private static Expression marked(Attribute name, LogicalPlan node) {
    for (var child : Plans.list(node.children()))
      for (var column : Plans.list(child.output()))
        if (column.exprId().equals(name.exprId()) && Plans.hasWatermark(column))
          return name.withMetadata(column.metadata());
    return name;
  }
}
