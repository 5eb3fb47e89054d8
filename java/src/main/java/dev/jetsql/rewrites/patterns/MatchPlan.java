package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.patterns.RowPattern;
import dev.jetsql.patterns.Search;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * A resolved MATCH_RECOGNIZE, for tasks. Columns are indexes into the columns of the rows.
 *
 * @param pattern the pattern
 * @param variables the names of its variables
 * @param columns the columns of the rows, and one with the name of the row's variable
 * @param values what conditions and measures read; these have bound references to the values
 * @param conditions the condition of each variable; null for none
 * @param measures the measures
 * @param allRows whether each row of a match is returned
 * @param skip where the next match may begin
 * @param skipTo the indexes of the variables of SKIP TO
 * @param withinMicros the longest time between the first and the last row; 0 for any
 * @param keys the columns of PARTITION BY
 * @param orderColumns the columns of ORDER BY
 * @param orders the directions of these
 * @param before the columns of the result before the measures
 * @param after the columns of the result after the measures
 * @param text what decides which rows match, in words
 */
record MatchPlan(
    RowPattern pattern,
    List<String> variables,
    List<Attribute> columns,
    List<MatchValue> values,
    List<Expression> conditions,
    List<Expression> measures,
    boolean allRows,
    MatchClause.Skip skip,
    List<Integer> skipTo,
    long withinMicros,
    List<Integer> keys,
    List<Integer> orderColumns,
    List<SortOrder> orders,
    List<Integer> before,
    List<Integer> after,
    String text)
    implements Serializable {
  /** Returns the columns of the rows. */
  List<Attribute> inputs() {
    return columns.subList(0, columns.size() - 1);
  }

  /** Returns the column with the time. */
  int timeColumn() {
    return orderColumns.get(0);
  }

  /** Returns the types of the columns of the result. */
  List<DataType> resultTypes() {
    var types = new ArrayList<DataType>();
    for (int column : before) types.add(columns.get(column).dataType());
    for (var measure : measures) types.add(measure.dataType());
    for (int column : after) types.add(columns.get(column).dataType());
    return types;
  }

  /**
   * Returns the order of the rows of a key. All columns follow those of ORDER BY, so that rows with
   * equal times have the same order in each run.
   *
   * @param inputs the columns in the plan of the rows
   */
  Seq<SortOrder> order(List<Attribute> inputs) {
    var all = new ArrayList<SortOrder>();
    var used = new HashSet<Integer>();
    for (int i = 0; i < orders.size(); i++) {
      int column = orderColumns.get(i);
      var order = orders.get(i);
      if (!used.add(column)) continue;
      all.add(
          new SortOrder(
              inputs.get(column), order.direction(), order.nullOrdering(), Sequences.of()));
    }
    for (int column = 0; column < inputs.size(); column++) {
      var attribute = inputs.get(column);
      if (used.contains(column) || keys.contains(column)) continue;
      if (RowOrdering.isOrderable(Sequences.<Expression>of(attribute)))
        all.add(new SortOrder(attribute, Ascending$.MODULE$, NullsFirst$.MODULE$, Sequences.of()));
    }
    return Sequences.of(all);
  }

  /** Returns how many rows before the first one of a match its values read. */
  int rowsBefore() {
    return values.stream().mapToInt(value -> -value.distance()).filter(n -> n > 0).max().orElse(0);
  }

  boolean countsMatches() {
    return values.stream().anyMatch(value -> value.kind() == MatchValue.Kind.NUMBER);
  }

  /** Returns whether rows of an open match can be kept without limit. */
  boolean isUnbounded() {
    return withinMicros == 0 && pattern.isUnbounded();
  }

  /** Returns the search of matches. limit: the largest number of steps for a row */
  Search search(long limit) {
    return new Search(pattern, variables, isByRow(), limit);
  }

  private boolean isByRow() {
    for (int variable = 0; variable < conditions.size(); variable++) {
      if (conditions.get(variable) == null) continue;
      for (int value : MatchValues.used(conditions.get(variable)))
        if (!values.get(value).isByRow(variable)) return false;
    }
    return true;
  }

  /** Returns the type of the rows, with the columns c0, c1 and so on. */
  StructType rowType() {
    var type = new StructType();
    for (var column : inputs()) type = type.add("c" + type.size(), column.dataType());
    return type;
  }

  /** Returns the pattern in words. */
  String meaning() {
    return text;
  }

  /** Returns a text that differs for matches that keep other rows. */
  String identity() {
    var conditions = new ArrayList<String>();
    for (var condition : conditions())
      conditions.add(condition == null ? "" : condition.sql() + texts(MatchValues.used(condition)));
    return String.join(
        "; ",
        pattern.toString(),
        conditions.toString(),
        String.valueOf(withinMicros),
        skip + " " + skipTo,
        keys.toString(),
        orderColumns.toString());
  }

  private List<String> texts(List<Integer> used) {
    return used.stream()
        .map(values::get)
        .map(
            value ->
                "%s %s %s %d %d %s"
                    .formatted(
                        value.kind(),
                        value.variables(),
                        value.isFirst(),
                        value.offset(),
                        value.distance(),
                        value.expression() == null ? "" : value.expression().sql()))
        .toList();
  }

  /** Returns the rows that a stream keeps, in words. */
  String state() {
    var kept = keptForEver();
    var waiting = "the rows that wait, and those of an open match of each key";
    return kept == null ? waiting : waiting + "; nothing removes " + kept;
  }

  /** Returns the rows that nothing removes, a phrase, or null. */
  String keptForEver() {
    var parts = new ArrayList<String>();
    if (isUnbounded()) parts.add("all rows of an open match (it has no WITHIN)");
    else if (withinMicros == 0) parts.add("the rows of an open match (it has no WITHIN)");
    if (rowsBefore() > 0)
      parts.add("as many rows before it as PREV reads, %d".formatted(rowsBefore()));
    if (countsMatches()) parts.add("the number of its matches (MATCH_NUMBER)");
    if (parts.isEmpty()) return null;
    var of = keys.isEmpty() ? "" : " of each " + keyNames();
    return String.join(", and ", parts) + of;
  }

  private String keyNames() {
    return String.join(", ", keys.stream().map(key -> columns.get(key).name()).toList());
  }
}
