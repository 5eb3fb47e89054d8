package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateStruct;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.KnownFloatingPointNormalized;
import org.apache.spark.sql.catalyst.expressions.Size;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectSet;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.FractionalType;
import scala.Option;

/** Replaces `count(DISTINCT x)` by the size of a set, and leaves DISTINCT out of min and max. */
final class DistinctAggregates {
  private DistinctAggregates() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    return Plans.transformStreams(
        query,
        node ->
            node instanceof Aggregate aggregate && isFirst(aggregate, mode)
                ? rewrite(aggregate, uses)
                : node);
  }

  /** Returns whether Spark's streaming operators run the aggregate, and not the batch above it. */
  private static boolean isFirst(Aggregate aggregate, OutputMode mode) {
    return mode.equals(OutputMode.Append()) || !Plans.aggregatesStream(aggregate.child());
  }

  private static LogicalPlan rewrite(Aggregate aggregate, Uses uses) {
    return aggregate.transformExpressions(
        PartialFunctions.of(
            DistinctAggregates::isRewritable, node -> rewrite((AggregateExpression) node, uses)));
  }

  private static boolean isRewritable(Expression node) {
    if (!(node instanceof AggregateExpression aggregate) || !aggregate.isDistinct()) return false;
    var function = aggregate.aggregateFunction();
    if (function instanceof Count count)
      return Plans.list(count.children()).stream().allMatch(DistinctAggregates::hasSets);
    return function instanceof Min || function instanceof Max || function instanceof CollectSet;
  }

  /**
   * Returns whether a set takes the values as equal that count(DISTINCT) does: not for collations.
   */
  private static boolean hasSets(Expression value) {
    return UnsafeRowUtils.isBinaryStable(value.dataType());
  }

  /**
   * Returns the value with one form of zero and one of NaN, as count(DISTINCT) compares numbers.
   */
  private static Expression normalized(Expression value) {
    return value.dataType() instanceof FractionalType && !(value.dataType() instanceof DecimalType)
        ? new KnownFloatingPointNormalized(new NormalizeNaNAndZero(value))
        : value;
  }

  private static Expression rewrite(AggregateExpression aggregate, Uses uses) {
    var function = aggregate.aggregateFunction();
    if (!(function instanceof Count count)) {
      return AggregateExpression$.MODULE$.apply(
          function, Complete$.MODULE$, false, aggregate.filter());
    }
    var values = Plans.list(count.children());
    uses.add(
        "count(DISTINCT %s) is the size of a set; state: all distinct values of each group"
            .formatted(Plans.texts(count.children())));
    // A set ignores NULL, as count does. count(DISTINCT a, b) ignores rows with any NULL.
    var filter = aggregate.filter();
    var value = normalized(values.get(0));
    if (values.size() > 1) {
      var fields = values.stream().map(DistinctAggregates::normalized).toList();
      value = CreateStruct.create(Sequences.of(fields));
      for (var each : values) {
        var isPresent = new IsNotNull(each);
        filter = Option.apply(filter.isEmpty() ? isPresent : new And(filter.get(), isPresent));
      }
    }
    var set =
        AggregateExpression$.MODULE$.apply(new CollectSet(value), Complete$.MODULE$, false, filter);
    return new Cast(new Size(set, false), DataTypes.LongType, Option.empty(), EvalMode.ANSI());
  }
}
