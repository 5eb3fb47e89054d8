package dev.jetsql.flink;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.UnaryPlan;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/** Rows with the windows of TUMBLE or HOP, until the type of their time is known. */
public final class UnresolvedWindows extends UnaryPlan {
  private final Expression time;
  private final WindowLengths lengths;

  /**
   * Creates a node. Spark copies plans with the only public constructor.
   *
   * @param time the column with the time
   */
  public UnresolvedWindows(LogicalPlan child, Expression time, WindowLengths lengths) {
    super(child, time, lengths);
    this.time = time;
    this.lengths = lengths;
  }

  Expression time() {
    return time;
  }

  WindowLengths lengths() {
    return lengths;
  }

  @Override
  public Seq<Attribute> output() {
    return Sequences.of();
  }

  @Override
  public boolean resolved() {
    return false;
  }

  @Override
  public LogicalPlan withNewChildInternal(LogicalPlan child) {
    return new UnresolvedWindows(child, time, lengths);
  }
}
