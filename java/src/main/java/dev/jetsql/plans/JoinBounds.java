package dev.jetsql.plans;

import dev.jetsql.versions.SparkCalls;
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
}
