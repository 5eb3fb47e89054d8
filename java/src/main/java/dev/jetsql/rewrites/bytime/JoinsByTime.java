package dev.jetsql.rewrites.bytime;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Replaces ASOF JOIN of two streams by their watermarks' columns, in append mode, by an operator
 * that returns each row of the first stream when the watermark has passed it.
 */
public final class JoinsByTime {
  /** The version whose state has keys in one form, also if they are structs. */
  private static final int EQUAL_KEYS = 2;

  static final String STATE = "the rows that wait, and the newest row of each key before them";

  private JoinsByTime() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  public static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    if (!mode.equals(OutputMode.Append())) return query;
    return Plans.transformStreams(
        query, node -> node instanceof AsOfJoin join ? rewrite(join, uses) : node);
  }

  private static LogicalPlan rewrite(AsOfJoin join, Uses uses) {
    var match = TimeMatch.of(join);
    if (match == null) return join;
    uses.add(
        "ASOF JOIN returns each row of the first stream when the watermark has passed %s; state: %s"
            .formatted(Plans.text(match.firstTime()), STATE),
        "The job drops rows that are later than the watermark. Of rows with equal times of the"
            + " second stream, the one that arrived last is joined.",
        EqualKey.areNested(match.firstKeys()) ? EQUAL_KEYS : 0);
    return operator(join, match);
  }

  private static LogicalPlan operator(AsOfJoin join, TimeMatch match) {
    var first = rowIf(match.ofFirst(), match.first());
    var second = rowIf(match.ofSecond(), match.second());
    var rows =
        new Union(
            Sequences.of(
                side(match.first(), match.firstKeys(), match.firstTime(), first, nullOf(second)),
                side(
                    match.second(), match.secondKeys(), match.secondTime(), nullOf(first), second)),
            false,
            false);
    var names = StreamRows.names(match.firstTime(), match.secondTime());
    var layout =
        new JoinRows(
            match.firstKeys().size(),
            Plans.texts(Sequences.of(match.firstKeys())),
            names.get(0),
            names.get(1),
            (StructType) first.dataType(),
            (StructType) second.dataType(),
            match.isStrict(),
            match.isOuter());
    var keys = IntStream.range(0, match.firstKeys().size()).boxed().toList();
    return new JoinByTimeProcessor(layout, match.expressions())
        .over(rows, keys, join.output(), TimeMode.EventTime(), OutputMode.Append());
  }

  /**
   * Returns the row as a struct, which is NULL for a row that cannot match. A filter would be
   * applied before the watermark, which would then wait for rows that can match.
   */
  private static Expression rowIf(Expression condition, LogicalPlan rows) {
    var row = Plans.struct(rows.output());
    return condition == null ? row : new If(condition, row, nullOf(row));
  }

  private static Expression nullOf(Expression value) {
    return new Literal(null, value.dataType());
  }

  /** Returns the rows of one stream in the columns that {@link JoinRows} describes. */
  private static LogicalPlan side(
      LogicalPlan rows,
      List<Expression> keys,
      Attribute time,
      Expression first,
      Expression second) {
    var columns = new ArrayList<NamedExpression>();
    for (var key : keys) columns.add(Plans.alias(key, "k" + columns.size()));
    columns.add(Plans.alias(time, "time"));
    var micros = new PreciseTimestampConversion(time, time.dataType(), DataTypes.LongType);
    columns.add(Plans.alias(micros, "at"));
    columns.add(Plans.alias(first, "first"));
    columns.add(Plans.alias(second, "second"));
    return new Project(Sequences.of(columns), rows);
  }
}
