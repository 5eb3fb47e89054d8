package dev.jetsql.rewrites;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases$;
import org.apache.spark.sql.catalyst.analysis.EliminateView$;
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning$;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * A query over streams in the form in which Spark runs it.
 *
 * <p>A query that Spark can run is left as it is. Any other is rewritten by the rules of this
 * package, which keep its result: equal to that of the same text as a batch query over the same
 * rows.
 *
 * @param query the query that runs as a stream
 * @param batchPart what runs over the rows of each batch of it, or null
 * @param rules the rules that were used, in their order
 */
public record RewrittenQuery(LogicalPlan query, BatchPart batchPart, List<AppliedRule> rules) {
  private static final List<RewriteRule> RULES =
      List.of(new WindowBounds(), new TopRows(), new DistinctRows(), new DistinctAggregates());

  /** The use of a rule in a query, in words. */
  public record AppliedRule(String name, int version, String meaning, String caution) {}

  /** Returns the query for the first of the output modes in which it can run. */
  public static RewrittenQuery of(SparkSession session, LogicalPlan query, List<OutputMode> modes) {
    var asWritten = new RewrittenQuery(query, null, List.of());
    if (!query.isStreaming() || (!readsStreamTwice(query) && asWritten.runs(session, modes)))
      return asWritten;
    var prepared = prepare(query);
    var separated = new RewrittenQuery(prepared, null, List.of());
    if (separated.runs(session, modes)) return separated;
    var rowsInBatch = RowsInBatch.of(prepared);
    if (rowsInBatch != null)
      return new RewrittenQuery(rowsInBatch.stream(), rowsInBatch, List.of());
    for (var mode : modes) {
      var rewritten = rewrite(prepared, mode);
      if (rewritten.runs(session, List.of(mode))) return rewritten;
    }
    return asWritten;
  }

  private boolean runs(SparkSession session, List<OutputMode> modes) {
    return modes.stream().anyMatch(mode -> StreamingCheck.reason(session, query, mode) == null);
  }

  /** Returns whether a WITH over a stream is read more than once. */
  private static boolean readsStreamTwice(LogicalPlan query) {
    var reads = new ArrayList<Long>();
    query.foreach(
        node -> {
          if (node instanceof CTERelationRef read && read.isStreaming()) reads.add(read.cteId());
          return null;
        });
    return reads.stream().distinct().count() < reads.size();
  }

  /** Removes what only the analyzer needs, and columns that nobody reads, which would be state. */
  private static LogicalPlan prepare(LogicalPlan query) {
    var inlined = new InlineCTE(true, false, false).apply(query);
    var plain = EliminateView$.MODULE$.apply(EliminateSubqueryAliases$.MODULE$.apply(inlined));
    return ColumnPruning$.MODULE$.apply(Plans.withSeparateReads(plain));
  }

  private static RewrittenQuery rewrite(LogicalPlan query, OutputMode mode) {
    var rules = new ArrayList<AppliedRule>();
    var plan = query;
    for (var rule : RULES) {
      plan =
          rule.apply(
              plan,
              mode,
              (meaning, caution) ->
                  rules.add(new AppliedRule(rule.name(), rule.version(), meaning, caution)));
    }
    if (!mode.equals(OutputMode.Complete()) || StreamingCheck.logicalReason(plan, mode) == null)
      return new RewrittenQuery(plan, null, rules);
    var batchPart = FirstAggregate.split(plan);
    return batchPart == null
        ? new RewrittenQuery(plan, null, rules)
        : new RewrittenQuery(batchPart.stream(), batchPart, rules);
  }
}
