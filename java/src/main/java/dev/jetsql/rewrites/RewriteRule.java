package dev.jetsql.rewrites;

import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * A rule that replaces operators of a streaming query that Spark cannot run by operators with the
 * same result that it can run.
 *
 * <p>The operators of a rule keep the state of jobs. After a release, a rule may only change
 * together with its version, and checkpoints of the older version must stay readable.
 */
interface RewriteRule {
  /** Returns the name that jobs store. */
  String name();

  /** Returns the version that jobs store. */
  int version();

  /**
   * Returns the rewritten query, or the same instance.
   *
   * @param mode the output mode in which the query is to run
   * @param meaning receives a phrase for each operator that the rule has made
   */
  LogicalPlan apply(LogicalPlan query, OutputMode mode, Consumer<String> meaning);
}
