package dev.jetsql.rights;

import java.util.function.BiConsumer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;

/** A query that runs for a long time, which is checked again after each change of rights. */
public final class RunningRead {
  private static volatile BiConsumer<SparkSession, LogicalPlan> gate;

  private final SparkSession session;
  private final LogicalPlan plan;
  private Rights checked = Rights.current();

  /**
   * Creates it for a query that was analyzed, and so checked.
   *
   * @param session of the user
   */
  public RunningRead(SparkSession session, LogicalPlan plan) {
    this.session = session;
    this.plan = plan;
  }

  /** Sets the gate that checks the plan of a query for the user of its session. */
  public static void setGate(BiConsumer<SparkSession, LogicalPlan> check) {
    gate = check;
  }

  /** Throws the error of a missing right if the rights have changed. */
  public void check() {
    var now = Rights.current();
    if (now == checked) return;
    gate.accept(session, plan);
    checked = now;
  }
}
