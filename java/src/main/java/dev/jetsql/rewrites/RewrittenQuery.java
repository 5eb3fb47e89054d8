package dev.jetsql.rewrites;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule;
import dev.jetsql.plans.StateTypes;
import dev.jetsql.rewrites.bytime.JoinsByTime;
import dev.jetsql.rewrites.bytime.RowsByTime;
import dev.jetsql.rewrites.changes.ChangedResults;
import dev.jetsql.rewrites.patterns.MatchesByTime;
import dev.jetsql.rewrites.ttl.StateTtl;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning$;
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
 * @param check Spark's checks of the query
 */
public record RewrittenQuery(
    LogicalPlan query, BatchPart batchPart, List<AppliedRule> rules, StreamingCheck check) {
  private static final List<RewriteRule> RULES =
      List.of(
          new RewriteRule("anti joins", 1, AntiJoins::apply),
          new RewriteRule("window bounds", 1, WindowBounds::apply),
          new RewriteRule("top rows", 2, TopRows::apply),
          new RewriteRule("distinct rows", 1, DistinctRows::apply),
          new RewriteRule("distinct aggregates", 1, DistinctAggregates::apply),
          new RewriteRule("rows by time", 1, RowsByTime::apply),
          new RewriteRule("joins by time", 1, JoinsByTime::apply),
          new RewriteRule("row patterns", 1, MatchesByTime::apply));

  /** The use of a rule in a query, in words. */
  public record AppliedRule(String name, int version, String meaning, String caution) {}

  /**
   * Returns the query for the first of the output modes in which it can run.
   *
   * @param query analyzed, so that the gates have checked its rights
   */
  public static RewrittenQuery of(SparkSession session, LogicalPlan query, RunOptions options) {
    try {
      return ApprovedPlans.call(() -> rewritten(session, query, options));
    } catch (StateTypes.UnkeptType e) {
      return refused(session, query, options.modes(), e.getMessage());
    }
  }

  private static RewrittenQuery rewritten(
      SparkSession session, LogicalPlan query, RunOptions options) {
    var asWritten = of(session, query);
    if (!query.isStreaming()) return asWritten;
    if (options.stateTtlMillis() > 0) {
      var forgetting = withStateTtl(session, query, options);
      if (forgetting != null) return forgetting;
    }
    var modes = options.modes();
    if (!readsStreamTwice(query) && asWritten.runs(modes)) return asWritten;
    var prepared = prepare(query);
    var separated = of(session, prepared);
    if (separated.runs(modes)) return separated;
    var rowsInBatch = RowsInBatch.of(prepared);
    if (rowsInBatch != null) return of(session, rowsInBatch, List.of());
    for (var mode : modes) {
      var rewritten = rewrite(session, prepared, mode, RULES);
      if (rewritten.runs(List.of(mode)) || rewritten.check.lacksOnlyKeys(mode)) return rewritten;
    }
    var changes = withChanges(session, query, prepared, options);
    return changes == null ? asWritten : changes;
  }

  /**
   * Returns the query that returns changed rows of a table with keys, the written one with the
   * reason why it cannot, or null for a query that is no aggregate over aggregates.
   */
  private static RewrittenQuery withChanges(
      SparkSession session, LogicalPlan written, LogicalPlan query, RunOptions options) {
    var update = OutputMode.Update();
    if (options.keys().isEmpty() || !options.modes().contains(update)) return null;
    // The rules see the aggregates as in complete mode: what leaves a result is taken back.
    var rules = new ArrayList<AppliedRule>();
    var whole = apply(RULES, query, OutputMode.Complete(), rules);
    var rule = ChangedResults.by(options.keys(), options.nullIsKey());
    var plan =
        apply(List.of(new RewriteRule(ChangedResults.NAME, 1, rule::apply)), whole, update, rules);
    var refusal = ChangedResults.isUsed(plan) ? null : rule.refusal(whole);
    if (refusal != null) return refused(session, written, List.of(update), refusal);
    var changes = new RewrittenQuery(plan, null, rules, new StreamingCheck(session, plan));
    return ChangedResults.isUsed(plan) && changes.runs(List.of(update)) ? changes : null;
  }

  /** Returns the query with state that has a time to live, or null if it has none. */
  private static RewrittenQuery withStateTtl(
      SparkSession session, LogicalPlan query, RunOptions options) {
    var prepared = prepare(query);
    var rules = new ArrayList<RewriteRule>();
    rules.add(new RewriteRule(StateTtl.NAME, 1, new StateTtl(options.stateTtlMillis())::apply));
    rules.addAll(RULES);
    for (var mode : options.modes()) {
      var rewritten = rewrite(session, prepared, mode, rules);
      var isUsed = rewritten.rules.stream().anyMatch(rule -> rule.name().equals(StateTtl.NAME));
      if (isUsed && rewritten.runs(List.of(mode))) return rewritten;
    }
    return null;
  }

  private static RewrittenQuery refused(
      SparkSession session, LogicalPlan query, List<OutputMode> modes, String reason) {
    var reasons = new HashMap<OutputMode, String>();
    for (var mode : modes) reasons.put(mode, reason);
    return new RewrittenQuery(query, null, List.of(), new StreamingCheck(session, query, reasons));
  }

  private static RewrittenQuery of(SparkSession session, LogicalPlan query) {
    return new RewrittenQuery(query, null, List.of(), new StreamingCheck(session, query));
  }

  private static RewrittenQuery of(
      SparkSession session, BatchPart batchPart, List<AppliedRule> rules) {
    var stream = batchPart.stream();
    return new RewrittenQuery(stream, batchPart, rules, new StreamingCheck(session, stream));
  }

  /** Returns whether the last column of the query's rows marks rows that are deleted. */
  public boolean marksDeleted() {
    return ChangedResults.isUsed(query);
  }

  public boolean isAsWritten() {
    return rules.isEmpty() && batchPart == null;
  }

  private boolean runs(List<OutputMode> modes) {
    return modes.stream().anyMatch(mode -> check.reason(mode) == null);
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

  /** Removes what only the analyzer needs, and unused columns, which would be state. */
  private static LogicalPlan prepare(LogicalPlan query) {
    var inlined = SparkCalls.inlined(query);
    return ColumnPruning$.MODULE$.apply(Plans.withSeparateReads(Plans.withoutNames(inlined)));
  }

  private static RewrittenQuery rewrite(
      SparkSession session, LogicalPlan query, OutputMode mode, List<RewriteRule> steps) {
    var rules = new ArrayList<AppliedRule>();
    var plan = apply(steps, query, mode, rules);
    var whole = new RewrittenQuery(plan, null, rules, new StreamingCheck(session, plan));
    if (!mode.equals(OutputMode.Complete()) || whole.check.logicalReason(mode) == null)
      return whole;
    var batchPart = FirstAggregates.split(plan);
    return batchPart == null ? whole : of(session, batchPart, rules);
  }

  /** Returns the query after rules. applied: receives their uses */
  private static LogicalPlan apply(
      List<RewriteRule> steps, LogicalPlan query, OutputMode mode, List<AppliedRule> applied) {
    var plan = query;
    for (var rule : steps) {
      plan =
          rule.rewrite()
              .apply(
                  plan,
                  mode,
                  (meaning, caution, since) -> {
                    int version = Math.max(rule.version(), since);
                    applied.add(new AppliedRule(rule.name(), version, meaning, caution));
                  });
    }
    return plan;
  }
}
