package dev.jetsql.plans;

import java.util.List;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnaryExecNode;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * An operator of JetSQL in Spark's physical plans, over the rows of one other operator. Spark
 * copies it with its only public constructor.
 */
public abstract class UnaryExec extends SparkPlan implements UnaryExecNode, NodeParts {
  private static final long serialVersionUID = 1L;

  private final SparkPlan child;
  private final List<Object> parts;

  /**
   * Creates an operator.
   *
   * @param parts the further arguments of the constructor in their order
   */
  protected UnaryExec(SparkPlan child, Object... parts) {
    this.child = child;
    this.parts = NodeParts.of(List.of(child), parts);
  }

  @Override
  public final List<Object> nodeParts() {
    return parts;
  }

  @Override
  public SparkPlan child() {
    return child;
  }

  @Override
  public Seq<SparkPlan> children() {
    return UnaryExecNode.super.children();
  }

  @Override
  public SparkPlan mapChildren(Function1<SparkPlan, SparkPlan> f) {
    return UnaryExecNode.super.mapChildren(f);
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return UnaryExecNode.super.withNewChildrenInternal(newChildren);
  }

  @Override
  public String verboseStringWithOperatorId() {
    return UnaryExecNode.super.verboseStringWithOperatorId();
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
