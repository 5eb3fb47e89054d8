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
 * @param returnsPairs whether it returns each pair of rows that match
 * @param returnsUnmatchedLeft whether it returns the rows of the left side without a match
 * @param returnsUnmatchedRight whether it returns the rows of the right side without a match
 * @param returnsMatchedLeft whether it returns a row of the left side once if it has a match
 */
record JoinShape(
    String kind,
    boolean returnsPairs,
    boolean returnsUnmatchedLeft,
    boolean returnsUnmatchedRight,
    boolean returnsMatchedLeft)
    implements Serializable {
  /** Returns the rows of a kind of join, or null for another kind. */
  static JoinShape of(JoinType type) {
    if (type instanceof InnerLike) return new JoinShape(type.sql(), true, false, false, false);
    if (type.equals(LeftOuter$.MODULE$)) return new JoinShape(type.sql(), true, true, false, false);
    if (type.equals(RightOuter$.MODULE$))
      return new JoinShape(type.sql(), true, false, true, false);
    if (type.equals(FullOuter$.MODULE$)) return new JoinShape(type.sql(), true, true, true, false);
    if (type.equals(LeftSemi$.MODULE$)) return new JoinShape(type.sql(), false, false, false, true);
    if (type.equals(LeftAnti$.MODULE$)) return new JoinShape(type.sql(), false, true, false, false);
    return null;
  }

  boolean countsLeftMatches() {
    return returnsUnmatchedLeft || returnsMatchedLeft;
  }
}
