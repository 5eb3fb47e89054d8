package dev.jetsql.common;

import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Option;

/**
 * Where options stand in a statement, of which Spark keeps only the places of the values in
 * OPTIONS.
 */
public final class OptionPlaces {
  private OptionPlaces() {}

  /**
   * Return the place of an option's name, which stands before its value; Spark keeps only the
   * value's.
   */
  public static Origin ofKey(Origin value, String name) {
    if (value.sqlText().isEmpty() || value.startIndex().isEmpty()) return value;
    var text = value.sqlText().get();
    var start = (int) value.startIndex().get();
    if (start < 0 || start > text.length()) return value;
    var found = text.lastIndexOf(name, start - 1);
    return found < 0 ? value : at(value, text, found);
  }

  /**
   * Return the place of an option's name after a table's, or of the value after that.
   *
   * @param value null for the place of the name
   * @return the table's place where the option is not found
   */
  public static Origin after(Origin relation, String name, String value) {
    if (relation.sqlText().isEmpty() || relation.startIndex().isEmpty()) return relation;
    var text = relation.sqlText().get();
    var found = literal(text, name, (int) relation.startIndex().get());
    if (found >= 0 && value != null) found = literal(text, value, found + name.length());
    return found < 0 ? relation : at(relation, text, found);
  }

  /**
   * Find a text in quotes, and without them where there is none: the table may have the same name.
   */
  private static int literal(String text, String wanted, int from) {
    var single = text.indexOf("'" + wanted + "'", from);
    var quoted = single >= 0 ? single : text.indexOf('"' + wanted + '"', from);
    return quoted >= 0 ? quoted + 1 : text.indexOf(wanted, from);
  }

  /** Return a literal's place, which is that of its quote. */
  private static Origin at(Origin near, String text, int found) {
    var quoted = found > 0 && (text.charAt(found - 1) == '\'' || text.charAt(found - 1) == '"');
    var start = quoted ? found - 1 : found;
    var line = 1 + (int) text.substring(0, start).chars().filter(c -> c == '\n').count();
    var column = start - (text.lastIndexOf('\n', start - 1) + 1);
    return new Origin(
        Option.apply(line),
        Option.apply(column),
        near.startIndex(),
        near.stopIndex(),
        near.sqlText(),
        near.objectType(),
        near.objectName(),
        near.stackTrace(),
        near.pysparkErrorContext(),
        near.positionMapper());
  }
}
