package dev.jetsql.plans;

import dev.jetsql.common.Sequences;
import dev.jetsql.versions.SparkCalls;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The sides of a join of two streams whose rows a watermark removes.
 *
 * @param left whether it removes those of the left side
 * @param right whether it removes those of the right side
 */
public record JoinBounds(boolean left, boolean right) {
  public static JoinBounds of(StreamingSymmetricHashJoinExec join) {
    return of(
        join.left().output(),
        join.right().output(),
        join.leftKeys(),
        join.rightKeys(),
        join.condition().full());
  }

  public static JoinBounds of(Join join, Seq<Expression> leftKeys, Seq<Expression> rightKeys) {
    return of(join.left().output(), join.right().output(), leftKeys, rightKeys, join.condition());
  }

  private static JoinBounds of(
      Seq<Attribute> left,
      Seq<Attribute> right,
      Seq<Expression> leftKeys,
      Seq<Expression> rightKeys,
      Option<Expression> condition) {
    var removed = SparkCalls.removedByWatermark(left, right, leftKeys, rightKeys, condition);
    return new JoinBounds(removed.left().isDefined(), removed.right().isDefined());
  }

  public boolean areBoth() {
    return left && right;
  }

  /**
   * Returns the sides whose rows Spark removes only when no later row of the other side can match:
   * both columns of the bound have a watermark, so that rows that come later than it are dropped.
   */
  public static JoinBounds excluding(StreamingSymmetricHashJoinExec join) {
    var leftKeys = Plans.list(join.leftKeys());
    var rightKeys = Plans.list(join.rightKeys());
    var keyed = firstWithWatermark(leftKeys);
    if (keyed < 0) keyed = firstWithWatermark(rightKeys);
    if (keyed >= 0) {
      var areTimes =
          Plans.hasWatermark(leftKeys.get(keyed)) && Plans.hasWatermark(rightKeys.get(keyed));
      return new JoinBounds(areTimes, areTimes);
    }
    var left = join.left().output();
    var right = join.right().output();
    var condition = join.condition().full();
    var byTime = of(times(left), right, join.leftKeys(), join.rightKeys(), condition);
    var byOther = of(left, times(right), join.leftKeys(), join.rightKeys(), condition);
    return new JoinBounds(byTime.left, byOther.right);
  }

  private static int firstWithWatermark(List<Expression> keys) {
    return IntStream.range(0, keys.size())
        .filter(i -> Plans.hasWatermark(keys.get(i)))
        .findFirst()
        .orElse(-1);
  }

  private static Seq<Attribute> times(Seq<Attribute> columns) {
    return Sequences.of(Plans.list(columns).stream().filter(Plans::hasWatermark).toList());
  }
}
