package dev.jetsql.common;

import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * The positions of options in a statement. Spark keeps only the positions of the values in OPTIONS.
 */
public final class OptionPositions {
  private OptionPositions() {}

  /**
   * Returns the position of an option's name, which is written before its value. Returns the
   * value's position when the name is not found.
   */
  public static Origin ofKey(Origin value, String name) {
    if (value.sqlText().isEmpty() || value.startIndex().isEmpty()) return value;
    var text = value.sqlText().get();
    var start = (int) value.startIndex().get();
    if (start < 0 || start > text.length()) return value;
    var index = text.lastIndexOf(name, start - 1);
    return index < 0 ? value : at(value, text, index);
  }

  /**
   * Returns the position of an option's name after the table's name, or of the value after that.
   *
   * @param value null for the position of the option's name
   * @return the table's position when the option is not found
   */
  public static Origin after(Origin relation, String name, String value) {
    if (relation.sqlText().isEmpty() || relation.startIndex().isEmpty()) return relation;
    var text = relation.sqlText().get();
    var index = indexOfLiteral(text, name, (int) relation.startIndex().get());
    if (index >= 0 && value != null) index = indexOfLiteral(text, value, index + name.length());
    return index < 0 ? relation : at(relation, text, index);
  }

  /**
   * Returns the index of a text in quotes, otherwise of the text without quotes: the table may have
   * the same name. Returns -1 when there is none.
   */
  private static int indexOfLiteral(String text, String literal, int from) {
    var single = text.indexOf("'" + literal + "'", from);
    var quoted = single >= 0 ? single : text.indexOf('"' + literal + '"', from);
    return quoted >= 0 ? quoted + 1 : text.indexOf(literal, from);
  }

  /** Returns the position of the first text that a group of a pattern matches, or the node's. */
  public static Origin ofMatch(Origin node, Pattern pattern) {
    if (node.sqlText().isEmpty()) return node;
    var text = node.sqlText().get();
    var matcher = pattern.matcher(text);
    return matcher.find() ? at(node, text, matcher.start(1)) : node;
  }

  /** Returns the position of a literal, which begins with its quote. */
  private static Origin at(Origin near, String text, int index) {
    var quoted = index > 0 && (text.charAt(index - 1) == '\'' || text.charAt(index - 1) == '"');
    var start = quoted ? index - 1 : index;
    var line = 1 + (int) text.substring(0, start).chars().filter(c -> c == '\n').count();
    var column = start - (text.lastIndexOf('\n', start - 1) + 1);
    return Origins.moved(near, line, column);
  }
}
