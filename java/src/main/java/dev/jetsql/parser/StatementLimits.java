package dev.jetsql.parser;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.util.Locale;
import java.util.Set;

/**
 * Refuses statements that would occupy Spark's parser for minutes, fill the heap, or overflow the
 * stack. It reads the text once, by the rules of Spark's lexer for quotes and comments.
 *
 * <p>The time of Spark's parser grows with the square of the nesting and more. At 200 levels, it
 * takes less than a second, with the stack of Java's threads. A comment within comments costs the
 * lexer more than a parenthesis costs the parser. The nodes of a statement's tree take about a
 * kilobyte of the heap for each token, so the number of tokens is limited by the size of the heap.
 */
final class StatementLimits {
  private static final int LEVELS = 200;
  private static final int LEVELS_OF_COMMENTS = 20;
  private static final int BYTES_OF_TOKEN = 2048;
  private static final int FEWEST_TOKENS = 100_000;
  private static final Set<String> TYPES = Set.of("ARRAY", "MAP", "STRUCT");
  private static final Set<String> OPENING = Set.of("CASE", "BEGIN");

  /** The levels that are open: `(`, `[`, `<` of a type, and `c` of CASE or BEGIN. */
  private final char[] open = new char[LEVELS];

  private final String text;
  private final long mostTokens;
  private int levels;
  private int tokens;
  private int at;

  /** The last word, if nothing but white space and comments follows it, otherwise an empty text. */
  private String word = "";

  private boolean isAfterDot;

  private StatementLimits(String text, long mostTokens) {
    this.text = text;
    this.mostTokens = mostTokens;
  }

  /** Throws JetSqlException STATEMENT_TOO_COMPLEX at the place where the text exceeds a limit. */
  static void check(String text) {
    check(text, Math.max(FEWEST_TOKENS, Runtime.getRuntime().maxMemory() / BYTES_OF_TOKEN));
  }

  static void check(String text, long mostTokens) {
    if (text.length() > LEVELS_OF_COMMENTS) new StatementLimits(text, mostTokens).read();
  }

  /** Throws the error of a statement that overflows the stack of its thread. */
  static RuntimeException stackOverflow() {
    var error =
        JetSqlException.of(
            "STATEMENT_TOO_COMPLEX",
            "54001",
            "The statement, including its views, is nested too deep, or has a chain of too many"
                + " operators. Compute parts of it in a WITH clause, a view or a table, use IN or"
                + " concat_ws(...) in place of a chain, or several statements.");
    return Exceptions.raise(error);
  }

  private void read() {
    while (at < text.length()) {
      var character = text.charAt(at);
      if (Character.isWhitespace(character)) at++;
      else if (isAt("--")) skipLine();
      else if (isAt("/*") && !isAt("/*+")) skipComment();
      else readToken(character);
    }
  }

  private void readToken(char character) {
    countToken();
    switch (character) {
      case '\'', '"' -> skipString(character);
      case '`' -> skipTo("`", at + 1);
      case '$' -> skipDollars();
      case '(', '[' -> enter(character);
      case '<' -> {
        if (TYPES.contains(word)) enter('<');
        else at++;
      }
      case ')' -> leave('(');
      case ']' -> leave('[');
      case '>' -> {
        if (levels > 0 && open[levels - 1] == '<') levels--;
        at++;
      }
      default -> {
        if (Character.isUnicodeIdentifierPart(character)) readWord();
        else at++;
      }
    }
    isAfterDot = character == '.';
    if (!Character.isUnicodeIdentifierPart(character)) word = "";
  }

  private void readWord() {
    var start = at;
    while (at < text.length() && Character.isUnicodeIdentifierPart(text.charAt(at))) at++;
    if (at - start == 1 && at < text.length() && "rR".indexOf(text.charAt(start)) >= 0) {
      var quote = text.charAt(at);
      if (quote == '\'' || quote == '"') skipTo(String.valueOf(quote), at + 1); // r'...'
    }
    word = at - start > 6 || isAfterDot ? "" : text.substring(start, at).toUpperCase(Locale.ROOT);
    if (OPENING.contains(word)) {
      enter('c', start);
    } else if (word.equals("END") && levels > 0 && open[levels - 1] == 'c') {
      levels--;
    }
  }

  private void enter(char opening) {
    enter(opening, at);
    at++;
  }

  private void enter(char opening, int place) {
    if (levels == LEVELS)
      throw refusal(
          place,
          "The statement has more than "
              + LEVELS
              + " levels of parentheses, brackets, types, CASE and BEGIN. Compute the inner part"
              + " in a WITH clause, a view or a table.");
    open[levels++] = opening;
  }

  /** Closes the last open bracket of this kind, with all that is open in it. */
  private void leave(char opening) {
    at++;
    for (var level = levels - 1; level >= 0; level--) {
      if (open[level] != opening) continue;
      levels = level;
      return;
    }
  }

  private void countToken() {
    if (++tokens > mostTokens)
      throw refusal(
          at,
          "The statement has more than "
              + mostTokens
              + " words, values and symbols, which might not fit into the engine's heap. Write"
              + " rows into a file or several statements, or start the engine with a larger heap"
              + " (--driver-memory).");
  }

  /** As in Spark, a backslash before the line break continues the comment. */
  private void skipLine() {
    while (at < text.length() && text.charAt(at) != '\r') {
      if (text.charAt(at) == '\n' && text.charAt(at - 1) != '\\') return;
      at++;
    }
  }

  private void skipComment() {
    var depth = 0;
    do {
      if (isAt("/*") && !isAt("/*+")) {
        countToken();
        if (++depth > LEVELS_OF_COMMENTS)
          throw refusal(
              at,
              "The statement has more than "
                  + LEVELS_OF_COMMENTS
                  + " comments within each other. Remove the inner ones.");
        at += 2;
      } else if (isAt("*/")) {
        depth--;
        at += 2;
      } else {
        at++;
      }
    } while (depth > 0 && at < text.length());
  }

  private void skipString(char quote) {
    for (at++; at < text.length(); at++) {
      if (text.charAt(at) == '\\') at++;
      else if (text.charAt(at) == quote) break;
    }
    at = Math.min(at + 1, text.length());
  }

  /** Skips a string in $$ or $tag$. */
  private void skipDollars() {
    var stop = at + 1;
    while (stop < text.length() && Character.isLetter(text.charAt(stop))) stop++;
    if (stop < text.length() && text.charAt(stop) == '$')
      skipTo(text.substring(at, stop + 1), stop + 1);
    else at++;
  }

  private void skipTo(String end, int from) {
    var found = text.indexOf(end, from);
    at = found < 0 ? text.length() : found + end.length();
  }

  private boolean isAt(String symbol) {
    return text.startsWith(symbol, at);
  }

  private RuntimeException refusal(int place, String message) {
    var line = (int) text.substring(0, place).chars().filter(each -> each == '\n').count() + 1;
    var column = place - (text.lastIndexOf('\n', place - 1) + 1);
    var error = JetSqlException.at(line, column, "STATEMENT_TOO_COMPLEX", "54001", message);
    return Exceptions.raise(error);
  }
}
