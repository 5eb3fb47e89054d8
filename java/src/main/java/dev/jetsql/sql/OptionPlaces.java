package dev.jetsql.sql;

import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Option;

/** Where options stand in a statement, which Spark tells of their values in OPTIONS alone. */
public class OptionPlaces {
  /** The place of an option's name, which stands before its value; Spark keeps only the value's. */
  public static Origin ofKey(Origin value, String name) {
    if (value.sqlText().isEmpty() || value.startIndex().isEmpty()) return value;
    String text = (String) value.sqlText().get();
    int start = ((Integer) value.startIndex().get()).intValue();
    if (start < 0 || start > text.length()) return value;
    int found = text.lastIndexOf(name, start - 1);
    if (found < 0) return value;
    return at(value, text, found);
  }

  /** The place of an option's name behind a table's, or of the value behind that; the table's where it is not found. */
  public static Origin after(Origin relation, String name, String value) {
    if (relation.sqlText().isEmpty() || relation.startIndex().isEmpty()) return relation;
    String text = (String) relation.sqlText().get();
    int found = literal(text, name, ((Integer) relation.startIndex().get()).intValue());
    if (found >= 0 && value != null) found = literal(text, value, found + name.length());
    return found < 0 ? relation : at(relation, text, found);
  }

  /** Where a text stands in quotes, or without them; the table may have the same name. */
  private static int literal(String text, String wanted, int from) {
    int single = text.indexOf("'" + wanted + "'", from);
    int quoted = single >= 0 ? single : text.indexOf('"' + wanted + '"', from);
    return quoted >= 0 ? quoted + 1 : text.indexOf(wanted, from);
  }

  /** A literal's place: where its quote is. */
  private static Origin at(Origin near, String text, int found) {
    if (found > 0 && (text.charAt(found - 1) == '\'' || text.charAt(found - 1) == '"')) found--;
    int line = 1;
    for (int i = 0; i < found; i++) if (text.charAt(i) == '\n') line++;
    int column = found - (text.lastIndexOf('\n', found - 1) + 1);
    return new Origin(Option.apply((Object) Integer.valueOf(line)), Option.apply((Object) Integer.valueOf(column)),
        near.startIndex(), near.stopIndex(), near.sqlText(), near.objectType(), near.objectName(), near.stackTrace(),
        near.pysparkErrorContext(), near.positionMapper());
  }
}
