package dev.jetsql.rewrites.changes;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.InnerLike;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;

/**
 * The rows that a kind of join returns in addition to the pairs that match.
 *
 * @param kind the kind of join, in SQL
 * @param returnsUnmatchedLeft whether it returns the rows of the left side without a match
 * @param returnsUnmatchedRight whether it returns the rows of the right side without a match
 */
record JoinShape(String kind, boolean returnsUnmatchedLeft, boolean returnsUnmatchedRight)
    implements Serializable {
  /** Returns the rows of a kind of join, or null for another kind. */
  static JoinShape of(JoinType type) {
    if (type instanceof InnerLike) return new JoinShape("INNER", false, false);
    if (type.equals(LeftOuter$.MODULE$)) return new JoinShape(type.sql(), true, false);
    if (type.equals(RightOuter$.MODULE$)) return new JoinShape(type.sql(), false, true);
    if (type.equals(FullOuter$.MODULE$)) return new JoinShape(type.sql(), true, true);
    return null;
  }
}
