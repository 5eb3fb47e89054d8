package dev.jetsql.rewrites.patterns;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * A value that conditions and measures read of the rows of a match.
 *
 * @param kind what the value is
 * @param variables the indexes of the variables whose rows are meant, or null for all rows
 * @param isFirst whether rows are counted from the first one of the variables, not from the last
 * @param offset the number of rows of the variables from there
 * @param distance the number of rows of any variable from there; below zero for earlier rows
 * @param isFinal whether the value sees the whole match also in its first rows
 * @param expression of a ROW over the columns as bound references, of an AGGREGATE over the columns
 *     as attributes; null for the NUMBER
 * @param readsVariable whether the expression reads the name of the row's variable
 */
record MatchValue(
    Kind kind,
    List<Integer> variables,
    boolean isFirst,
    int offset,
    int distance,
    boolean isFinal,
    Expression expression,
    boolean readsVariable)
    implements Serializable {
  enum Kind {
    /** An expression in one row. */
    ROW,
    /** An aggregate over rows. */
    AGGREGATE,
    /** The number of the match. */
    NUMBER
  }

  /**
   * Returns whether a condition of a variable reads the value of its own row or its neighbours,
   * whatever the rows before it are.
   */
  boolean isByRow(int variable) {
    if (kind != Kind.ROW) return kind == Kind.NUMBER;
    return !isFirst
        && offset == 0
        && (variables == null || variables.contains(variable))
        && !(readsVariable && distance != 0);
  }
}
