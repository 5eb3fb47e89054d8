package dev.jetsql.stream;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.rewrites.RewrittenQuery;
import dev.jetsql.rewrites.RunOptions;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * The query of a streaming select.
 *
 * <p>A query without an aggregate appends rows as they arrive. A query with an aggregate returns
 * its whole result with each batch (complete mode), so that it supports ORDER BY. Complete mode is
 * also used with a watermark, because append mode would return nothing before a window closes. If
 * Spark refuses complete mode (an aggregate below a join of streams, several aggregates with
 * watermarks), the query appends. A query that Spark refuses in both modes is rewritten, as the
 * body of a job is.
 *
 * @param query the query that runs, without the limit in append mode: the reader counts the rows,
 *     so that Spark needs no state for the limit
 * @param mode append or complete
 * @param limit the maximum number of rows, or -1 without a limit
 */
record StreamingSelectPlan(RewrittenQuery query, OutputMode mode, long limit) {
  static final long UNLIMITED = -1L;

  /**
   * Derives the query from an analyzed statement. Throws Spark's error for a query that it cannot
   * run over a stream, and STREAM_WITHOUT_LIMIT for a query without a limit that is not live.
   */
  static StreamingSelectPlan of(SparkSession session, LogicalPlan analyzed, boolean live) {
    Expression limit = limit(analyzed);
    if (limit == null && !live) throw Exceptions.raise(missingLimit());
    long rowLimit = limit == null ? UNLIMITED : ((Number) limit.eval(null)).longValue();
    StreamingSelectPlan rewritten = null;
    for (var mode : modes(analyzed)) {
      var select = new StreamingSelectPlan(rewrite(session, analyzed, mode), mode, rowLimit);
      if (select.query.check().refusal(mode) != null) continue;
      if (select.query.isAsWritten()) return select;
      if (rewritten == null) rewritten = select;
    }
    if (rewritten == null) throw refused(session, analyzed);
    return rewritten;
  }

  private static RewrittenQuery rewrite(
      SparkSession session, LogicalPlan analyzed, OutputMode mode) {
    var isCounted = mode.equals(OutputMode.Append()) && limit(analyzed) != null;
    var plan = isCounted ? withoutLimit(analyzed) : analyzed;
    return RewrittenQuery.of(session, plan, RunOptions.of(mode));
  }

  /** Returns Spark's error for a query that does not run in any mode, with its condition. */
  private static RuntimeException refused(SparkSession session, LogicalPlan analyzed) {
    var mode = modes(analyzed).get(0);
    var query = rewrite(session, analyzed, mode);
    try {
      UnsupportedOperationChecker.checkForStreaming(query.query(), mode);
    } catch (Exception e) { // a Scala method declares no checked exception
      return Exceptions.raise(e);
    }
    return Exceptions.raise(
        JetSqlException.of("UNSUPPORTED_QUERY", "0A000", query.check().refusal(mode)));
  }

  /** Returns the plan that runs as a stream. */
  LogicalPlan plan() {
    return query.query();
  }

  /** Returns the rows of a batch so that `result` can read them. `release` has to follow. */
  Dataset<Row> store(Dataset<Row> rows) {
    return isReadOften() ? rows.localCheckpoint() : rows;
  }

  /** Returns the rows of a batch for the reader. stored: the rows that `store` returned */
  Dataset<Row> result(Dataset<Row> stored) {
    var part = query.batchPart();
    return part == null ? stored : part.apply(stored);
  }

  /** Removes the stored rows of a batch from the executors. */
  void release(Dataset<Row> stored) {
    if (isReadOften()) ((LogicalRDD) stored.logicalPlan()).rdd().unpersist(false);
  }

  private boolean isReadOften() {
    return query.batchPart() != null && query.batchPart().isReadOften();
  }

  /** Returns whether Spark's check of the plan has to be off. */
  boolean isUnchecked() {
    return query.check().mustBypass(mode);
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

  private static List<OutputMode> modes(LogicalPlan plan) {
    return plan.exists(StreamingSelectPlan::aggregatesStream)
        ? List.of(OutputMode.Complete(), OutputMode.Append())
        : List.of(OutputMode.Append(), OutputMode.Complete());
  }

  private static boolean aggregatesStream(LogicalPlan node) {
    return (node instanceof Aggregate || node instanceof Distinct) && node.isStreaming();
  }
}
