package dev.jetsql.stream;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.rewrites.StreamingCheck;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * The query of a streaming select.
 *
 * <p>A query without an aggregate appends rows as they arrive. A query with an aggregate returns
 * its whole result with each batch (complete mode), so that it supports ORDER BY. Complete mode is
 * also used with a watermark, because append mode would return nothing before a window closes. If
 * Spark refuses complete mode (an aggregate below a join of streams, several aggregates with
 * watermarks), the query appends.
 *
 * @param plan the analyzed plan, without the limit in append mode: the reader counts the rows, so
 *     that Spark needs no state for the limit
 * @param mode append or complete
 * @param limit the maximum number of rows, or -1 without a limit
 */
record StreamingSelectPlan(LogicalPlan plan, OutputMode mode, long limit) {
  static final long UNLIMITED = -1L;

  /**
   * Derives the query from an analyzed statement. Throws Spark's error for a query that it cannot
   * run over a stream, and STREAM_WITHOUT_LIMIT for a query without a limit that is not live.
   */
  static StreamingSelectPlan of(LogicalPlan analyzed, boolean live) {
    Expression limit = limit(analyzed);
    if (limit == null && !live) throw Exceptions.raise(missingLimit());
    OutputMode mode = mode(analyzed);
    long rowLimit = limit == null ? UNLIMITED : ((Number) limit.eval(null)).longValue();
    boolean appends = mode.equals(OutputMode.Append());
    LogicalPlan plan = limit != null && appends ? withoutLimit(analyzed) : analyzed;
    UnsupportedOperationChecker.checkForStreaming(plan, mode);
    return new StreamingSelectPlan(plan, mode, rowLimit);
  }

  private static JetSqlException missingLimit() {
    return JetSqlException.of(
        "STREAM_WITHOUT_LIMIT",
        "0A000",
        "A SELECT over a stream does not end. Add LIMIT n to return its next n rows, run it in the"
            + " shell (jetsql), or create a job for it: CREATE JOB name AS INSERT INTO ...");
  }

  /** Returns the limit at the top of a plan, or null. */
  private static Expression limit(LogicalPlan plan) {
    if (plan instanceof WithCTE with) return limit(with.plan());
    return plan instanceof GlobalLimit limit && limit.child() instanceof LocalLimit
        ? limit.limitExpr()
        : null;
  }

  private static LogicalPlan withoutLimit(LogicalPlan plan) {
    if (plan instanceof WithCTE with) return with.copy(withoutLimit(with.plan()), with.cteDefs());
    return ((LocalLimit) ((GlobalLimit) plan).child()).child();
  }

  private static OutputMode mode(LogicalPlan plan) {
    boolean complete =
        plan.exists(StreamingSelectPlan::aggregatesStream)
            && (allows(plan, OutputMode.Complete()) || !allows(plan, OutputMode.Append()));
    return complete ? OutputMode.Complete() : OutputMode.Append();
  }

  private static boolean aggregatesStream(LogicalPlan node) {
    return (node instanceof Aggregate || node instanceof Distinct) && node.isStreaming();
  }

  private static boolean allows(LogicalPlan plan, OutputMode mode) {
    return StreamingCheck.sparkReason(plan, mode) == null;
  }
}
