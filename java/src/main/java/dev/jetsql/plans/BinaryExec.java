package dev.jetsql.plans;

import java.util.List;
import org.apache.spark.sql.execution.BinaryExecNode;
import org.apache.spark.sql.execution.SparkPlan;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * An operator of JetSQL in Spark's physical plans, over the rows of two other operators. Spark
 * copies it with its only public constructor.
 */
public abstract class BinaryExec extends SparkPlan implements BinaryExecNode, NodeParts {
  private static final long serialVersionUID = 1L;

  private final SparkPlan left;
  private final SparkPlan right;
  private final List<Object> parts;

  /**
   * Creates an operator.
   *
   * @param parts the further arguments of the constructor in their order
   */
  protected BinaryExec(SparkPlan left, SparkPlan right, Object... parts) {
    this.left = left;
    this.right = right;
    this.parts = NodeParts.of(List.of(left, right), parts);
  }

  @Override
  public final List<Object> nodeParts() {
    return parts;
  }

  @Override
  public final SparkPlan left() {
    return left;
  }

  @Override
  public final SparkPlan right() {
    return right;
  }

  @Override
  public Seq<SparkPlan> children() {
    return BinaryExecNode.super.children();
  }

  @Override
  public SparkPlan mapChildren(Function1<SparkPlan, SparkPlan> f) {
    return BinaryExecNode.super.mapChildren(f);
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return BinaryExecNode.super.withNewChildrenInternal(newChildren);
  }

  @Override
  public String verboseStringWithOperatorId() {
    return BinaryExecNode.super.verboseStringWithOperatorId();
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
