package dev.jetsql.rewrites.patterns;

import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;

/**
 * Replaces MATCH_RECOGNIZE over streams, in append mode, by an operator that keeps each row until
 * no open match can have it.
 */
public final class MatchesByTime {
  /** The version whose state has keys in one form, also if they are structs. */
  private static final int EQUAL_KEYS = 2;

  private MatchesByTime() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  public static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    if (!mode.equals(OutputMode.Append())) return query;
    return Plans.transformStreams(
        query, node -> node instanceof MatchedRows rows ? rewrite(rows, uses) : node);
  }

  private static LogicalPlan rewrite(MatchedRows rows, Uses uses) {
    var match = rows.match();
    uses.add(
        "MATCH_RECOGNIZE returns each match of PATTERN (%s) when the watermark has passed the row"
                .formatted(match.meaning())
            + " that decides it%s; state: %s"
                .formatted(
                    match.withinMicros() > 0 ? ", or the time of WITHIN" : "", match.state()),
        "The job drops rows that are later than the watermark or have no time. Rows with equal"
            + " times are taken in the order of ORDER BY, then in that of their values.",
        EqualKey.areNested(match.keys().stream().map(rows.inputs()::apply).toList())
            ? EQUAL_KEYS
            : 0);
    var output = new StructType();
    for (var type : match.resultTypes()) output = output.add("c" + output.size(), type);
    var expressions = new ArrayList<Expression>(Plans.list(rows.inputs()));
    expressions.add(Literal$.MODULE$.apply(match.identity()));
    return new MatchProcessor(match, output, expressions)
        .over(
            Plans.withUniqueNames(Watermarks.restored(rows.child())),
            match.keys(),
            rows.output(),
            TimeMode.EventTime(),
            OutputMode.Append());
  }
}
