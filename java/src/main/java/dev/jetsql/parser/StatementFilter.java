package dev.jetsql.parser;

import java.util.regex.Pattern;

/** A filter that lets through all statements of JetSQL and few of Spark's. */
final class StatementFilter {
  private final Pattern beginning;

  /**
   * @param beginning Python's regular expression for the beginning of a JetSQL statement
   */
  StatementFilter(String beginning) {
    this.beginning = Pattern.compile(beginning, Pattern.UNICODE_CHARACTER_CLASS); // as in Python
  }

  boolean matches(String text) {
    return beginning.matcher(text).lookingAt();
  }
}
