package dev.jetsql.rewrites.changes;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.CreateStruct;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import scala.Option;

/**
 * The aggregates over rows with a sign: a row with the sign -1 takes back an earlier row.
 *
 * <p>Sums are exact, in whatever order rows arrive and are taken back: of integers as decimals that
 * cannot overflow, of decimals with room for more digits. Sums of floating-point numbers are not.
 */
final class SignedAggregates {
  private static final int MAX_DIGITS = DecimalType.MAX_PRECISION() - 10; // sum() adds 10 digits
  private static final DecimalType INTEGER = new DecimalType(20, 0);

  private final Attribute sign;
  private final List<Values> values = new ArrayList<>();
  private boolean countsNested;

  /**
   * Creates the aggregates.
   *
   * @param sign the column with the sign of a row
   */
  SignedAggregates(Attribute sign) {
    this.sign = sign;
  }

  /**
   * The values of a column in a group.
   *
   * @param column the column
   * @param facts the minimum, the maximum and the number of different values
   */
  record Values(Expression column, List<Attribute> facts) {
    static Values of(Expression column) {
      var facts = new ArrayList<Attribute>();
      for (var field : new ValueCounts(0, column.dataType()).factsType().fields())
        facts.add(Plans.alias(new Literal(null, field.dataType()), field.name()).toAttribute());
      return new Values(column, facts);
    }
  }

  /** Returns the columns of whose values the calls of `result` need all that are in a group. */
  List<Values> values() {
    return values;
  }

  /** Returns whether values are counted that had several forms in the state of version 1. */
  boolean countsNested() {
    return countsNested;
  }

  /** Returns why a call cannot be computed from rows with a sign, a phrase, or null if it can. */
  private static String refusal(AggregateExpression call) {
    var function = call.aggregateFunction();
    var name = function.prettyName();
    if (call.isDistinct() && !keepsValues(call)) return name + "(DISTINCT) cannot take back values";
    var isStable =
        Plans.list(function.children()).stream()
            .allMatch(value -> UnsafeRowUtils.isBinaryStable(value.dataType()));
    if (keepsValues(call)) return isStable ? null : name + "() of values with several forms";
    if (function instanceof Count) return null;
    if (!(function instanceof Sum || function instanceof Average))
      return name + "() cannot take back values";
    var value = function.children().head();
    if (value.dataType() instanceof IntegralType) return null;
    if (!(value.dataType() instanceof DecimalType decimal))
      return name + "() of " + value.dataType().sql() + " would not be exact";
    return decimal.precision() <= MAX_DIGITS
        ? null
        : name + "() of " + value.dataType().sql() + " could overflow";
  }

  /** Returns the number of rows. */
  Expression rows() {
    return total(sign);
  }

  private static boolean keepsValues(AggregateExpression call) {
    var function = call.aggregateFunction();
    return function instanceof Min
        || function instanceof Max
        || (function instanceof Count && call.isDistinct());
  }

  /** Returns the result of a call. Throws Refusal. */
  Expression result(AggregateExpression call) {
    var refusal = refusal(call);
    if (refusal != null) throw new AggregateChanges.Refusal(refusal);
    return keepsValues(call) ? ofValues(call) : ofTotals(call);
  }

  private Expression ofValues(AggregateExpression call) {
    var function = call.aggregateFunction();
    var columns = Plans.list(function.children());
    var column = columns.get(0);
    if (function instanceof Count) {
      countsNested |= EqualKey.areNested(columns);
      var normalized = columns.stream().map(EqualKey::of).toList();
      column =
          normalized.size() == 1
              ? normalized.get(0)
              : CreateStruct.create(Sequences.of(normalized));
    }
    var isCounted = isCounted(call.filter(), columns);
    var counted = find(new If(isCounted, column, nothing(column.dataType())));
    if (function instanceof Min) return (Expression) counted.facts().get(0);
    if (function instanceof Max) return (Expression) counted.facts().get(1);
    return new Coalesce(
        Sequences.of((Expression) counted.facts().get(2), Literal$.MODULE$.apply(0L)));
  }

  private Values find(Expression column) {
    for (var each : values) if (each.column().semanticEquals(column)) return each;
    values.add(Values.of(column));
    return values.get(values.size() - 1);
  }

  private Expression ofTotals(AggregateExpression call) {
    var function = call.aggregateFunction();
    var values = Plans.list(function.children());
    var isCounted = isCounted(call.filter(), values);
    var count = total(new If(isCounted, sign, Literal$.MODULE$.apply(0)));
    if (function instanceof Count) return count;
    var value = values.get(0);
    var exact = value.dataType() instanceof IntegralType ? cast(value, INTEGER) : value;
    var negated = new UnaryMinus(exact, true);
    var signed = new If(new LessThan(sign, Literal$.MODULE$.apply(0)), negated, exact);
    var sum = new Sum(new If(isCounted, signed, nothing(exact.dataType()))).toAggregateExpression();
    return function instanceof Average average
        ? average(average, sum, count)
        : new If(
            new EqualTo(count, Literal$.MODULE$.apply(0L)),
            nothing(function.dataType()),
            new Cast(
                sum,
                function.dataType(),
                Option.empty(),
                ((Sum) function).evalContext().evalMode()));
  }

  /** Returns Spark's own result of an average, of another sum and another count. */
  private static Expression average(Average average, Expression sum, Expression count) {
    var buffers = Plans.list(average.aggBufferAttributes());
    var value = cast(sum, buffers.get(0).dataType());
    return average
        .evaluateExpression()
        .transformUp(
            PartialFunctions.<Expression, Expression>of(
                buffers::contains, node -> node.equals(buffers.get(0)) ? value : count));
  }

  private static Expression isCounted(Option<Expression> filter, List<Expression> values) {
    Expression all =
        filter.isEmpty()
            ? Literal$.MODULE$.apply(true)
            : new Coalesce(Sequences.of(filter.get(), Literal$.MODULE$.apply(false)));
    for (var value : values) {
      if (value.nullable()) all = new And(all, new IsNotNull(value));
    }
    return all;
  }

  private static Expression total(Expression value) {
    return new Coalesce(
        Sequences.of(new Sum(value).toAggregateExpression(), Literal$.MODULE$.apply(0L)));
  }

  private static Expression cast(Expression value, DataType type) {
    return new Cast(value, type, Option.empty(), EvalMode.ANSI());
  }

  static Literal nothing(DataType type) {
    return new Literal(null, type);
  }

  /** Returns whether a group has rows. count: the number of its rows */
  static Expression isPresent(Expression count) {
    return new LessThan(Literal$.MODULE$.apply(0L), count);
  }
}
