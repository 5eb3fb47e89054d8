package dev.jetsql.rights.gates;

import dev.jetsql.common.LeafCommand;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.ExplainCommand;
import scala.collection.immutable.Seq;

/**
 * EXPLAIN for a user who is not an ADMIN. It shows no plan that reads a view of another user: the
 * plan names the tables and columns of the view's body.
 */
public final class CheckedExplain extends LeafCommand {
  private static final long serialVersionUID = 1L;
  private static final ThreadLocal<Boolean> explaining = new ThreadLocal<>();

  private final transient ExplainCommand explain;

  /** Creates the statement; Spark copies it with this constructor. */
  public CheckedExplain(ExplainCommand explain) {
    super(explain);
    this.explain = explain;
  }

  /** Returns a plan with EXPLAIN replaced, if it is one. */
  static LogicalPlan checked(LogicalPlan plan) {
    return plan instanceof ExplainCommand explain ? new CheckedExplain(explain) : plan;
  }

  /** Returns whether this thread analyzes a plan to show it. */
  static boolean isExplaining() {
    return explaining.get() != null;
  }

  @Override
  public Seq<Attribute> output() {
    return explain.output();
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    explaining.set(true);
    try {
      return explain.run(session);
    } finally {
      explaining.remove();
    }
  }
}
