package dev.jetsql.rewrites.patterns;

import dev.jetsql.patterns.RowPattern;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * The clauses of a MATCH_RECOGNIZE without its expressions, which {@link UnresolvedMatch} has as
 * one list: columns of PARTITION BY, SortOrders, measures, conditions.
 *
 * @param origin the place of the clause
 * @param text the text in PATTERN
 * @param pattern the pattern
 * @param subsets the variables of each SUBSET
 * @param keys the number of columns of PARTITION BY
 * @param orders the number of SortOrders
 * @param measures the names of the measures
 * @param defined the variables with conditions
 * @param allRows whether each row of a match is returned
 * @param skip where the next match may begin
 * @param skipTo the variables of SKIP TO; empty if there is none
 * @param withinMicros the longest time between the first and the last row of a match; 0 for any
 */
record MatchClause(
    Origin origin,
    String text,
    RowPattern pattern,
    Map<String, Set<String>> subsets,
    int keys,
    int orders,
    List<String> measures,
    List<String> defined,
    boolean allRows,
    Skip skip,
    Set<String> skipTo,
    long withinMicros) {
  /** The row after a match at which the next one may begin. */
  enum Skip {
    PAST_LAST_ROW,
    TO_NEXT_ROW,
    TO_FIRST,
    TO_LAST
  }

  /** Returns the variables of a name, which may be that of a SUBSET; null for an unknown one. */
  Set<String> variables(String name) {
    return variables(name, pattern, subsets);
  }

  static Set<String> variables(String name, RowPattern pattern, Map<String, Set<String>> subsets) {
    return pattern.variables().contains(name) ? Set.of(name) : subsets.get(name);
  }
}
