package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Origins;
import org.apache.spark.sql.catalyst.trees.Origin;

/** The errors of MATCH_RECOGNIZE, each at the place of what is wrong. */
final class MatchErrors {
  private MatchErrors() {}

  /** Returns the error of a clause that SQL does not allow. */
  static RuntimeException wrong(Origin place, String message) {
    return Exceptions.raise(JetSqlException.at(place, "PARSE_SYNTAX_ERROR", "42601", message));
  }

  /** Returns the error of what JetSQL does not run. */
  static RuntimeException unsupported(Origin place, String message) {
    return Exceptions.raise(JetSqlException.at(place, "UNSUPPORTED_QUERY", "0A000", message));
  }

  /** Returns the place of a character in a text that begins at a place. */
  static Origin within(Origin place, String text, int offset) {
    if (place.line().isEmpty() || place.startPosition().isEmpty()) return place;
    var before = text.substring(0, offset);
    int lines = (int) before.chars().filter(each -> each == '\n').count();
    int column =
        lines == 0
            ? (Integer) place.startPosition().get() + offset
            : offset - 1 - before.lastIndexOf('\n');
    return Origins.moved(place, (Integer) place.line().get() + lines, column);
  }
}
