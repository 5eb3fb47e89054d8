package dev.jetsql.scheduling;

import dev.jetsql.common.Principals;
import java.util.Objects;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Runs the statements of each user in a scheduler pool of the user, so that the statements of one
 * take no more of the cores than those of another, or a job. It is a rule of the analyzer, because
 * all endpoints analyze a statement on the thread that then runs it, for its user.
 *
 * <p>The statements of the built-in user are in Spark's default pool. Threads of endpoints serve
 * one user after the other, so the pool is set for each statement.
 */
public final class UserPools extends Rule<LogicalPlan> {
  private final SparkSession session;

  public UserPools(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    var user = Principals.of(session);
    if (user == null || user.equals(Principals.SYSTEM)) return plan;
    var context = session.sparkContext();
    var before = context.getLocalProperty(FairPools.POOL);
    if (before != null && !FairPools.isOfUser(before))
      return plan; // a job's, or a program's choice
    var pool = Principals.isBuiltIn(user) ? null : FairPools.ofUser(user);
    if (!Objects.equals(pool, before)) context.setLocalProperty(FairPools.POOL, pool);
    return plan;
  }
}
