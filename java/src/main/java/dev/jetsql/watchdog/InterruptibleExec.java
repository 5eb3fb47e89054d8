package dev.jetsql.watchdog;

import java.io.Serializable;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnaryExecNode;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Passes the rows of its child on, and ends a task that Spark has cancelled. Spark's operators do
 * not check that for each row.
 */
public final class InterruptibleExec extends SparkPlan implements UnaryExecNode {
  private static final long serialVersionUID = 1L;

  private final SparkPlan child;

  /** Spark copies plans with the only public constructor. */
  public InterruptibleExec(SparkPlan child) {
    this.child = child;
  }

  @Override
  public SparkPlan child() {
    return child;
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child
        .execute()
        .mapPartitions(new Check(), true, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /** The function of each task. */
  private static final class Check
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      return new InterruptibleIterator<>(TaskContext.get(), rows);
    }
  }

  @Override
  public String nodeName() {
    return "Interruptible";
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan newChild) {
    return new InterruptibleExec(newChild);
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
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int n) {
    return child;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof InterruptibleExec;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof InterruptibleExec that && child.equals(that.child);
  }

  @Override
  public int hashCode() {
    return 31 + child.hashCode();
  }
}
