package dev.jetsql.rewrites;

import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.DenseRank;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Rank;
import org.apache.spark.sql.catalyst.expressions.RowNumber;

/** The ranking functions of SQL whose lowest values {@link TopRowsAggregate} keeps. */
enum RankFunction {
  ROW_NUMBER,
  RANK,
  DENSE_RANK;

  /** Returns the constant for a window function, or null for any other function. */
  static RankFunction of(Expression function) {
    if (function instanceof RowNumber) return ROW_NUMBER;
    if (function instanceof Rank) return RANK;
    return function instanceof DenseRank ? DENSE_RANK : null;
  }

  /** Returns the function as it is written in SQL. */
  String sql() {
    return name().toLowerCase(Locale.ROOT) + "()";
  }

  boolean isRowNumber() {
    return this == ROW_NUMBER;
  }

  /** Returns the number of rows that a limit keeps, in words. */
  String describeRows(int limit) {
    var rows = limit == 1 ? "1 row" : limit + " rows";
    return isRowNumber() ? rows : rows + " and their peers";
  }
}
