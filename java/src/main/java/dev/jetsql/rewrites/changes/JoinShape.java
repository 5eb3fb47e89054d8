package dev.jetsql.rewrites.changes;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.InnerLike;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;

/**
 * The rows that a kind of join returns.
 *
 * @param kind the kind of join, in SQL
 * @param returnsPairs whether it returns the pairs that match, with the columns of both sides
 * @param returnsMatchedLeft whether it returns each row of the left side with a match once
 * @param returnsUnmatchedLeft whether it returns the rows of the left side without a match
 * @param returnsUnmatchedRight whether it returns the rows of the right side without a match
 */
record JoinShape(
    String kind,
    boolean returnsPairs,
    boolean returnsMatchedLeft,
    boolean returnsUnmatchedLeft,
    boolean returnsUnmatchedRight)
    implements Serializable {
  /** Returns the rows of a kind of join, or null for another kind. */
  static JoinShape of(JoinType type) {
    if (type instanceof InnerLike) return new JoinShape("INNER", true, false, false, false);
    if (type.equals(LeftOuter$.MODULE$)) return pairs(type, true, false);
    if (type.equals(RightOuter$.MODULE$)) return pairs(type, false, true);
    if (type.equals(FullOuter$.MODULE$)) return pairs(type, true, true);
    if (type.equals(LeftSemi$.MODULE$)) return new JoinShape(type.sql(), false, true, false, false);
    if (type.equals(LeftAnti$.MODULE$)) return new JoinShape(type.sql(), false, false, true, false);
    return null;
  }

  private static JoinShape pairs(JoinType type, boolean unmatchedLeft, boolean unmatchedRight) {
    return new JoinShape(type.sql(), true, false, unmatchedLeft, unmatchedRight);
  }

  /** Returns whether the rows that it returns depend on the number of matches of a left row. */
  boolean countsMatchesOfLeft() {
    return returnsMatchedLeft || returnsUnmatchedLeft;
  }
}
