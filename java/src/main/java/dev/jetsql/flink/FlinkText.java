package dev.jetsql.flink;

import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Flink's clauses that Spark's grammar does not have, replaced by texts that it has. A replacement
 * is as long as the clause, so that all positions in errors stay right.
 *
 * <p>`TABLE(TUMBLE(TABLE t, ...))` becomes `TUMBLE(TABLE(t),...)`, see {@link WindowFunctions}.
 * `FOR SYSTEM_TIME AS OF column` becomes an option of the table, see {@link SystemTime}.
 * MATCH_RECOGNIZE becomes a lateral join, see {@link PatternText}.
 */
public final class FlinkText extends TokenText {
  private static final Pattern CLAUSES =
      Pattern.compile("\\b(DESCRIPTOR|SYSTEM_TIME|MATCH_RECOGNIZE)\\b", Pattern.CASE_INSENSITIVE);

  /** After AS OF, these begin constants, which Spark accepts. */
  private static final Set<String> CONSTANTS =
      Set.of(
          "TIMESTAMP",
          "TIMESTAMP_LTZ",
          "TIMESTAMP_NTZ",
          "DATE",
          "CAST",
          "CURRENT_TIMESTAMP",
          "CURRENT_DATE",
          "LOCALTIMESTAMP",
          "NULL");

  private FlinkText(String text) {
    super(text);
  }

  /** Returns the text with Spark's clauses. A text without Flink's clauses is returned as it is. */
  public static String toSpark(String text) {
    return CLAUSES.matcher(text).find() ? new FlinkText(text).replaceAll() : text;
  }

  private String replaceAll() {
    for (var at = 0; at < tokens.size(); at++) {
      if (is(at, "TABLE")) removeTable(at);
      else if (is(at, "SYSTEM_TIME")) replaceSystemTime(at);
      else if (PatternText.isClause(this, at)) new PatternText(this, at).replace();
      else if (isWindowCall(at)) addParentheses(at + 1);
    }
    return text();
  }

  /** Removes TABLE( and ) around the call of a function of windows. */
  private void removeTable(int at) {
    if (!is(at + 1, "LEFT_PAREN") || !isWindowCall(at + 2)) return;
    var close = closing(at + 3) + 1;
    if (!is(close, "RIGHT_PAREN")) return;
    blank(tokens.get(at));
    blank(tokens.get(at + 1));
    blank(tokens.get(close));
  }

  private boolean isWindowCall(int at) {
    if (at >= tokens.size() || !WindowFunctions.isName(word(at))) return false;
    if (!is(at + 1, "LEFT_PAREN")) return false;
    var close = closing(at + 1);
    for (var index = at + 2; index < close; index++) {
      if (word(index).equalsIgnoreCase(WindowFunctions.DESCRIPTOR)) return true;
    }
    return false;
  }

  /**
   * Writes the parentheses that Spark expects around the name of a table in the arguments of a
   * call, and around the columns of PARTITION BY: they replace blanks. Where there are no blanks,
   * Spark's error asks for the parentheses.
   */
  private void addParentheses(int open) {
    var table = open + 1;
    if (is(table + 1, "FAT_ARROW")) table += 2;
    if (!is(table, "TABLE")) return;
    var last = table + 1;
    if (is(last, "LEFT_PAREN")) {
      last = closing(last);
    } else {
      if (last >= tokens.size() || !isName(last)) return;
      last = lastOfName(last);
      encloseAfter(table, last);
    }
    if (is(last + 1, "PARTITION") && is(last + 2, "BY")) addParenthesesToColumns(last + 2);
  }

  /** Spark expects parentheses around the columns, since a comma ends the argument. */
  private void addParenthesesToColumns(int by) {
    var last = by;
    for (var at = by + 1; at < tokens.size() && isName(at); at = last + 2) {
      if (word(at).equalsIgnoreCase(WindowFunctions.DESCRIPTOR)) break;
      if (is(at + 1, "FAT_ARROW")) break;
      last = lastOfName(at);
      if (!is(last + 1, "COMMA")) break;
    }
    if (last > by) encloseAfter(by, last);
  }

  /** Writes parentheses around the tokens after `before` up to `last`, if there is room. */
  private void encloseAfter(int before, int last) {
    var open = blankAfter(tokens.get(before));
    var close = blankAfter(tokens.get(last));
    if (open < 0) return;
    if (close >= 0) {
      characters[close] = ')';
    } else if (is(last + 1, "COMMA") && blankAfter(tokens.get(last + 1)) >= 0) {
      characters[blankAfter(tokens.get(last + 1))] = ',';
      characters[tokens.get(last + 1).getStartIndex()] = ')';
    } else {
      return;
    }
    characters[open] = '(';
  }

  /** Replaces FOR SYSTEM_TIME AS OF and the name of a column, or a call of PROCTIME. */
  private void replaceSystemTime(int at) {
    var first = at + 3;
    if (!is(at - 1, "FOR") || !is(at + 1, "AS") || !is(at + 2, "OF")) return;
    if (first >= tokens.size()
        || !isName(first)
        || CONSTANTS.contains(word(first).toUpperCase(Locale.ROOT))) return;
    var start = tokens.get(at - 1).getStartIndex();
    if (is(first + 1, "LEFT_PAREN")) {
      if (ProcessingTime.isName(word(first)) && is(first + 2, "RIGHT_PAREN"))
        blank(start, tokens.get(first + 2).getStopIndex());
      return;
    }
    var last = lastOfName(first);
    var column = range(tokens.get(first).getStartIndex(), tokens.get(last).getStopIndex());
    if (column.contains("'") || column.contains("\\")) return;
    write(start, tokens.get(last).getStopIndex(), SystemTime.option(column));
  }
}
