package dev.jetsql.plans;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.Seq;

/** An operator that passes the rows of its child on as they are, in their order and partitions. */
public abstract class PassThroughExec extends UnaryExec {
  private static final long serialVersionUID = 1L;

  protected PassThroughExec(SparkPlan child) {
    super(child);
  }

  @Override
  public final Seq<Attribute> output() {
    return child().output();
  }

  @Override
  public final Partitioning outputPartitioning() {
    return child().outputPartitioning();
  }

  @Override
  public final Seq<SortOrder> outputOrdering() {
    return child().outputOrdering();
  }
}
