package dev.jetsql.plans;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** A node of a logical plan over the rows of one other plan, of which it reads all columns. */
public abstract class UnaryPlan extends LogicalPlan implements UnaryNode, NodeParts {
  private final LogicalPlan child;
  private final List<Object> parts;

  /**
   * Creates a node.
   *
   * @param parts the further arguments of the constructor in their order
   */
  protected UnaryPlan(LogicalPlan child, Object... parts) {
    this.child = child;
    this.parts = NodeParts.of(List.of(child), parts);
  }

  @Override
  public final List<Object> nodeParts() {
    return parts;
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
  public boolean equals(Object other) {
    return NodeParts.areEqual(this, other);
  }

  @Override
  public int hashCode() {
    return parts.hashCode();
  }
}
