package dev.jetsql.plans;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * A rule that replaces operators of a streaming query that Spark cannot run by operators with the
 * same result that it can run.
 *
 * <p>The operators of a rule keep the state of jobs. After a release, a rule may only change
 * together with its version, and checkpoints of the older version must stay readable.
 *
 * @param name the name that jobs store
 * @param version the version that jobs store
 * @param rewrite makes the operators
 */
public record RewriteRule(String name, int version, Rewrite rewrite) {
  /** The function of a rule. */
  public interface Rewrite {
    /**
     * Returns the rewritten query, or the same instance.
     *
     * @param mode the output mode in which the query is to run
     * @param uses receives each operator that the rule makes
     */
    LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses);
  }

  /** Receives the operators that a rule makes, in words. */
  public interface Uses {
    /**
     * Adds an operator.
     *
     * @param meaning a phrase
     * @param caution how its result can differ from that of a batch query, a sentence; empty if it
     *     cannot
     * @param version the version of the rule from which it is made like this; 0 for all
     */
    void add(String meaning, String caution, int version);

    default void add(String meaning, String caution) {
      add(meaning, caution, 0);
    }

    default void add(String meaning) {
      add(meaning, "");
    }
  }
}
