package dev.jetsql.rights.gates;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * A walk over all plans and expressions in a plan: children, subqueries, and those in fields that
 * Spark's own walks leave out, such as the query of a command. Each is visited once.
 */
abstract class PlanParts {
  private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

  /** Handles a plan before its parts. Returns whether to visit its parts. */
  abstract boolean enter(LogicalPlan plan);

  /** Handles a plan after its parts. */
  void leave(LogicalPlan plan) {}

  /** Handles an expression before its parts. Returns whether to visit its parts. */
  abstract boolean enter(Expression expression);

  /** Leaves a part out that has been handled otherwise. */
  final void skip(Object part) {
    seen.add(part);
  }

  final void visit(LogicalPlan plan) {
    if (!seen.add(plan)) return;
    if (enter(plan)) visitParts(plan);
    leave(plan);
  }

  final void visit(Expression expression) {
    if (seen.add(expression) && enter(expression)) visitParts(expression);
  }

  private void visitParts(TreeNode<?> node) {
    if (node instanceof LocalRelation || node instanceof Literal) return; // data
    if (node instanceof StreamingRelationV2) return; // a source, and its form for older readers
    visitAll(node.children().iterator());
    visitAll(node.innerChildren().iterator());
    visitAll(node.productIterator());
  }

  private void visitAll(Iterator<?> parts) {
    while (parts.hasNext()) visitPart(parts.next());
  }

  private void visitPart(Object part) {
    if (part instanceof LogicalPlan plan) visit(plan);
    else if (part instanceof Expression expression) visit(expression);
    else if (part instanceof Option<?> option) visitAll(option.iterator());
    else if (part instanceof Iterable<?> several && !(part instanceof DataType))
      visitAll(several.iterator());
    else if (part instanceof Product product && isOfPlans(product))
      visitAll(product.productIterator());
  }

  /** Returns whether an object that is no node can contain plans or expressions. */
  private static boolean isOfPlans(Product product) {
    var type = product.getClass().getName();
    return type.startsWith("scala.") || type.startsWith("org.apache.spark.sql.catalyst.plans.");
  }
}
