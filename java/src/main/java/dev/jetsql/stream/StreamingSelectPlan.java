package dev.jetsql.stream;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import org.apache.spark.sql.AnalysisException;
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
 * The query that a streaming select runs.
 *
 * <p>A query without an aggregate appends rows as they arrive. One with an aggregate returns its
 * whole result with each batch (complete mode), also with a watermark, where appending would return
 * nothing before a window closes; ORDER BY therefore works there. Where Spark refuses complete mode
 * (an aggregate below a join of streams, several aggregates with watermarks), the query appends.
 *
 * @param plan the analyzed plan, without the limit when the rows are appended: the reader counts
 *     them, which spares Spark a state for it
 * @param mode append or complete
 * @param limit the number of rows to return; -1 without a limit
 */
record StreamingSelectPlan(LogicalPlan plan, OutputMode mode, long limit) {
  static final long UNLIMITED = -1L;

  /**
   * Derive the query from an analyzed statement. Raises Spark's error for a query that it cannot
   * run over a stream, and STREAM_WITHOUT_LIMIT for one without a limit that is not live.
   */
  static StreamingSelectPlan of(LogicalPlan analyzed, boolean live) {
    Expression limit = limit(analyzed);
    if (limit == null && !live) throw Exceptions.raise(withoutEnd());
    OutputMode mode = mode(analyzed);
    long rows = limit == null ? UNLIMITED : ((Number) limit.eval(null)).longValue();
    boolean appends = mode.equals(OutputMode.Append());
    LogicalPlan plan = limit != null && appends ? withoutLimit(analyzed) : analyzed;
    UnsupportedOperationChecker.checkForStreaming(plan, mode);
    return new StreamingSelectPlan(plan, mode, rows);
  }

  private static JetSqlException withoutEnd() {
    return JetSqlException.of(
        "STREAM_WITHOUT_LIMIT",
        "0A000",
        "A SELECT over a stream has no end. Add LIMIT n to see its next n rows, look at it in the"
            + " shell (jetsql), or write CREATE JOB name AS INSERT INTO ... in front of it.");
  }

  /** Return the limit at the top of a plan, or null. */
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
    try {
      UnsupportedOperationChecker.checkForStreaming(plan, mode);
      return true;
    } catch (
        Exception
            e) { // a Scala method declares no checked exception, so javac refuses the narrower type
      if (e instanceof AnalysisException) return false;
      throw Exceptions.raise(e);
    }
  }
}
