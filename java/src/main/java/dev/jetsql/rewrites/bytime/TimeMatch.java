package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The parts of an ASOF JOIN of two streams: each row of the first stream, with the newest row of
 * the second stream that has the same key and no later time.
 *
 * @param first the rows of the first stream
 * @param second the rows of the second stream
 * @param ofFirst the condition of rows of the first stream that can match, or null
 * @param ofSecond the condition of rows of the second stream that can match, or null
 * @param firstTime the column with the watermark of the first stream
 * @param secondTime the column with the watermark of the second stream
 * @param firstKeys the key of the first stream
 * @param secondKeys the key of the second stream
 * @param isStrict whether equal times do not match
 * @param isOuter whether rows without a match are returned
 */
record TimeMatch(
    LogicalPlan first,
    LogicalPlan second,
    Expression ofFirst,
    Expression ofSecond,
    Attribute firstTime,
    Attribute secondTime,
    List<Expression> firstKeys,
    List<Expression> secondKeys,
    boolean isStrict,
    boolean isOuter) {

  /** Returns the parts of a join, or null for a join that is no such match. */
  static TimeMatch of(AsOfJoin join) {
    if (!join.left().isStreaming() || !join.right().isStreaming()) return null;
    if (join.toleranceAssertion().isDefined()) return null;
    if (!(join.asOfCondition() instanceof BinaryComparison condition)) return null;
    var after = inOrder(condition, join.left());
    var isStrict = after instanceof GreaterThan;
    if (!isStrict && !(after instanceof GreaterThanOrEqual)) return null;
    if (!(after.left() instanceof Attribute firstTime)
        || !(after.right() instanceof Attribute secondTime)
        || !Plans.hasWatermark(firstTime)
        || !Plans.hasWatermark(secondTime)) return null;
    var isOuter = join.joinType().equals(LeftOuter$.MODULE$);
    if (!isOuter && !join.joinType().equals(Inner$.MODULE$)) return null;
    var match =
        new TimeMatch(
            join.left(),
            join.right(),
            null,
            null,
            firstTime,
            secondTime,
            new ArrayList<>(),
            new ArrayList<>(),
            isStrict,
            isOuter);
    return join.condition().isEmpty()
        ? match
        : match.where(Plans.conjuncts(join.condition().get()));
  }

  /** Returns a comparison with the value of the first stream on its left. */
  private static BinaryComparison inOrder(BinaryComparison comparison, LogicalPlan first) {
    if (isOf(comparison.left(), first)) return comparison;
    if (comparison instanceof LessThan)
      return new GreaterThan(comparison.right(), comparison.left());
    if (comparison instanceof LessThanOrEqual)
      return new GreaterThanOrEqual(comparison.right(), comparison.left());
    return comparison;
  }

  /** Returns the match with the conditions of ON, or null if one is neither a key nor a filter. */
  private TimeMatch where(List<Expression> conditions) {
    Expression ofFirst = null;
    Expression ofSecond = null;
    for (var condition : conditions) {
      if (isOf(condition, second)) {
        ofSecond = and(ofSecond, condition);
      } else if (isOf(condition, first)) {
        if (isOuter) return null; // the rows that it excludes would have to be returned
        ofFirst = and(ofFirst, condition);
      } else if (!(condition instanceof EqualTo equal) || !addKey(equal)) {
        return null;
      }
    }
    for (var key : secondKeys) ofSecond = and(ofSecond, new IsNotNull(key)); // NULL matches nothing
    return new TimeMatch(
        first,
        second,
        ofFirst,
        ofSecond,
        firstTime,
        secondTime,
        firstKeys,
        secondKeys,
        isStrict,
        isOuter);
  }

  private boolean addKey(EqualTo equal) {
    var isInOrder = isOf(equal.left(), first) && isOf(equal.right(), second);
    if (!isInOrder && !(isOf(equal.right(), first) && isOf(equal.left(), second))) return false;
    firstKeys.add(EqualKey.unmarked(isInOrder ? equal.left() : equal.right()));
    secondKeys.add(EqualKey.unmarked(isInOrder ? equal.right() : equal.left()));
    return true;
  }

  private static boolean isOf(Expression expression, LogicalPlan rows) {
    return expression.deterministic() && expression.references().subsetOf(rows.outputSet());
  }

  private static Expression and(Expression first, Expression second) {
    return first == null ? second : new And(first, second);
  }

  /** Returns what the state of the join depends on. */
  List<Expression> expressions() {
    var all = new ArrayList<Expression>(List.of(firstTime, secondTime));
    all.addAll(firstKeys);
    all.addAll(secondKeys);
    all.addAll(Plans.list(first.output()));
    all.addAll(Plans.list(second.output()));
    return all;
  }
}
