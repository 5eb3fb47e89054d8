package dev.jetsql.common;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Enumeration;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/**
 * A command of JetSQL in Spark's plans. It has no child plans, and Spark's eager execution calls
 * `run` once.
 */
public abstract class LeafCommand extends LogicalPlan implements LeafRunnableCommand {
  private final Object[] parts;
  private Seq<Enumeration.Value> patterns = Sequences.of();

  /**
   * @param parts the arguments of the command's constructor in their order; Spark copies plans with
   *     them
   */
  protected LeafCommand(Object... parts) {
    this.parts = parts;
  }

  @Override
  public Seq<Attribute> output() {
    return Sequences.of();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Sequences.of();
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return patterns;
  }

  @Override
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> x) {
    patterns = x;
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public LogicalPlan mapChildren(Function1<LogicalPlan, LogicalPlan> f) {
    return this;
  }

  @Override
  public Map<String, SQLMetric> metrics() {
    return Map$.MODULE$.empty();
  }

  @Override
  public int productArity() {
    return parts.length;
  }

  @Override
  public Object productElement(int n) {
    return parts[n];
  }

  /**
   * Returns an empty text, so that Spark's UI and logs show no arguments of the command: a
   * statement or an option may contain a password.
   */
  @Override
  public String argString(int maxFields) {
    return "";
  }

  @Override
  public boolean canEqual(Object other) {
    return other != null && other.getClass() == getClass();
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
