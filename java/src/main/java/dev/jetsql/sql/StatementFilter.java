package dev.jetsql.sql;

import java.util.regex.Pattern;

/** Tells statements that may be JetSQL's from those that are certainly Spark's. */
final class StatementFilter {
  private final Pattern beginning;

  /**
   * @param beginning what a statement of JetSQL begins with, as a regular expression of Python
   */
  StatementFilter(String beginning) {
    this.beginning =
        Pattern.compile(
            beginning, Pattern.UNICODE_CHARACTER_CLASS); // Python's classes are Unicode's
  }

  boolean matches(String text) {
    return beginning.matcher(text).lookingAt();
  }
}
