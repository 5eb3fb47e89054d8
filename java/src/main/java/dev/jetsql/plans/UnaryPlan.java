package dev.jetsql.plans;

import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** A node of a logical plan over the rows of one other plan, of which it reads all columns. */
public abstract class UnaryPlan extends LogicalPlan implements UnaryNode {
  private final LogicalPlan child;

  protected UnaryPlan(LogicalPlan child) {
    this.child = child;
  }

  @Override
  public LogicalPlan child() {
    return child;
  }

  @Override
  public AttributeSet references() {
    return child.resolved() ? child.outputSet() : super.references();
  }

  @Override
  public AttributeSet producedAttributes() {
    return outputSet();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return UnaryNode.super.children();
  }

  @Override
  public LogicalPlan mapChildren(Function1<LogicalPlan, LogicalPlan> f) {
    return UnaryNode.super.mapChildren(f);
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return UnaryNode.super.withNewChildrenInternal(children);
  }

  @Override
  public boolean canEqual(Object other) {
    return other != null && other.getClass() == getClass();
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof UnaryPlan plan) || !canEqual(other)) return false;
    for (int i = 0; i < productArity(); i++)
      if (!productElement(i).equals(plan.productElement(i))) return false;
    return true;
  }

  @Override
  public int hashCode() {
    int hash = getClass().hashCode();
    for (int i = 0; i < productArity(); i++) hash = 31 * hash + productElement(i).hashCode();
    return hash;
  }
}
