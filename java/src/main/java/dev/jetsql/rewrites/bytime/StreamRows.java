package dev.jetsql.rewrites.bytime;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The rows of one stream that an operator with state reads.
 *
 * @param name the name of the stream in FROM, or null for the only one
 * @param rows the rows
 * @param time the column that Spark compares with the watermark
 * @param condition the condition of the rows that can be in the result, or null for all rows
 */
public record StreamRows(String name, LogicalPlan rows, Attribute time, Expression condition) {
  /**
   * Returns the names of two streams in FROM, or left and right if these are not distinct.
   *
   * @param first a column of the first stream, or null
   * @param second a column of the second stream, or null
   */
  public static List<String> names(Attribute first, Attribute second) {
    var names = List.of(qualifier(first), qualifier(second));
    var areClear = !names.contains("") && !names.get(0).equalsIgnoreCase(names.get(1));
    return areClear ? names : List.of("left", "right");
  }

  private static String qualifier(Attribute column) {
    if (column == null) return "";
    var parts = column.qualifier();
    var name = parts.isEmpty() ? "" : parts.last();
    return name.startsWith("__") ? "" : name; // Spark's name for a subquery without one
  }
}
