package dev.jetsql.sql;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Enumeration;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Seq$;

/**
 * A command of ours in Spark's plans: it reads no other plan, and `run` is called once, by Spark's eager execution.
 *
 * parts: what the constructor of the command takes, in its order, for Spark copies plans by it.
 */
public abstract class OneStep extends LogicalPlan implements LeafRunnableCommand, java.io.Serializable {
  private final Object[] parts;
  private Seq<Enumeration.Value> patterns = Seq$.MODULE$.empty();

  protected OneStep(Object[] parts) { this.parts = parts; }

  public Seq<Attribute> output() { return Seq$.MODULE$.empty(); }
  public Seq<LogicalPlan> children() { return Seq$.MODULE$.empty(); }
  public Seq<Enumeration.Value> nodePatterns() { return patterns; }
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(Seq<Enumeration.Value> x) { patterns = x; }
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) { return this; }
  public LogicalPlan mapChildren(scala.Function1<LogicalPlan, LogicalPlan> f) { return this; }
  public scala.collection.immutable.Map<String, SQLMetric> metrics() { return Map$.MODULE$.empty(); }
  public int productArity() { return parts.length; }
  public Object productElement(int n) { return parts[n]; }
  /** Spark's UI and logs show plans; a statement or an option may hold a password, so nothing of them is shown. */
  public String argString(int maxFields) { return ""; }
  public boolean canEqual(Object other) { return other != null && other.getClass() == getClass(); }
  public boolean equals(Object other) { return this == other; }
  public int hashCode() { return System.identityHashCode(this); }
}
