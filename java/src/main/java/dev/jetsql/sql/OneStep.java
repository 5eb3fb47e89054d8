package dev.jetsql.sql;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/**
 * A command of ours in Spark's plans: it reads no other plan, and `run` is called once, by Spark's eager execution.
 *
 * parts: what the constructor of the command takes, in its order, for Spark copies plans by it.
 */
public abstract class OneStep extends LogicalPlan implements LeafRunnableCommand, java.io.Serializable {
  private final Object[] parts;
  private Seq patterns = (Seq) Nil$.MODULE$;

  protected OneStep(Object[] parts) { this.parts = parts; }

  public Seq output() { return (Seq) Nil$.MODULE$; }
  public Seq children() { return (Seq) Nil$.MODULE$; }
  public Seq nodePatterns() { return patterns; }
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(Seq x) { patterns = x; }
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) { return this; }
  public LogicalPlan mapChildren(scala.Function1<LogicalPlan, LogicalPlan> f) { return this; }
  public scala.collection.immutable.Map metrics() { return (scala.collection.immutable.Map) Map$.MODULE$.empty(); }
  public int productArity() { return parts.length; }
  public Object productElement(int n) { return parts[n]; }
  /** Spark's UI and logs show plans; a statement or an option may hold a password, so nothing of them is shown. */
  public String argString(int maxFields) { return ""; }
  public boolean canEqual(Object other) { return other != null && other.getClass() == getClass(); }
  public boolean equals(Object other) { return this == other; }
  public int hashCode() { return System.identityHashCode(this); }
}
