package dev.jetsql.flink;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Origins;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * MATCH_RECOGNIZE as a lateral join with the call of a table function, which Spark parses:
 *
 * <pre>
 *   t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A B+) DEFINE B AS B.x > 1) AS m
 *   t JOIN LATERAL __ ('§O',    ts ,'§M',   A.x ,  x ,'§R',  'A B+' ,'§D', B ,  B.x > 1) AS m
 * </pre>
 *
 * <p>The arguments are texts that begin a clause, and the expressions of the clause in their
 * places. `ClauseReader` of the rewrites reads them.
 */
final class PatternText {
  private static final String WORD = "MATCH_RECOGNIZE";
  private static final String CALL = "JOIN LATERAL __";

  /** The clauses in their order. */
  private static final List<String> CLAUSES =
      List.of(
          "PARTITION BY",
          "ORDER BY",
          "MEASURES",
          "ONE ROW PER MATCH",
          "ALL ROWS PER MATCH",
          "AFTER MATCH SKIP",
          "PATTERN",
          "WITHIN",
          "SUBSET",
          "DEFINE");

  private static final Set<String> EXCLUSIVE = Set.of("ONE ROW PER MATCH", "ALL ROWS PER MATCH");

  private final TokenText text;
  private final int match;
  private final int close;
  private String last;

  PatternText(TokenText text, int match) {
    this.text = text;
    this.match = match;
    this.close = text.closing(match + 1);
  }

  /** Returns whether a clause begins at a token; an alias of this name has names in parentheses. */
  static boolean isClause(TokenText text, int at) {
    if (!text.word(at).equalsIgnoreCase(WORD) || !text.is(at + 1, "LEFT_PAREN")) return false;
    return new PatternText(text, at).clauseAt(at + 2) != null
        && text.closing(at + 1) < text.tokens.size();
  }

  /** Replaces the clause. Throws JetSqlException at the place of what is wrong. */
  void replace() {
    write(match, match, CALL);
    for (int at = match + 2; at < close; ) {
      var clause = clauseAt(at);
      if (clause == null) throw unexpected(at);
      checkOrder(at, clause);
      int end = at + 1;
      if (clause.equals("PATTERN")) end = text.closing(at + 1) + 1;
      while (end < close && clauseAt(end) == null) end++;
      replace(clause, at, end);
      last = clause;
      at = end;
    }
  }

  private void checkOrder(int at, String clause) {
    if (last == null) return;
    if (last.equals(clause) || (EXCLUSIVE.contains(last) && EXCLUSIVE.contains(clause)))
      throw wrong(at, clause + " follows " + last + ". Write one of them.");
    if (CLAUSES.indexOf(clause) < CLAUSES.indexOf(last))
      throw wrong(
          at,
          clause
              + " comes before "
              + last
              + ". Write the clauses in the order "
              + String.join(", ", CLAUSES)
              + ".");
  }

  private RuntimeException unexpected(int at) {
    return wrong(
        at,
        "MATCH_RECOGNIZE expects one of %s, found '%s'."
            .formatted(String.join(", ", CLAUSES), text.word(at)));
  }

  /** Returns the clause that begins at a token, or null. */
  private String clauseAt(int at) {
    if (at >= text.tokens.size()) return null;
    var isName = text.is(at - 1, "AS") || text.is(at - 1, "DOT");
    for (var clause : CLAUSES) {
      if (!isName && isPhrase(at, clause) && isBegin(at, clause)) return clause;
    }
    return null;
  }

  private boolean isPhrase(int at, String phrase) {
    var words = phrase.split(" ", -1);
    for (int i = 0; i < words.length; i++) {
      if (at + i >= text.tokens.size() || !upper(at + i).equals(words[i])) return false;
    }
    return true;
  }

  /** Returns whether a clause and not a name begins at a word, which Spark does not reserve. */
  private boolean isBegin(int at, String clause) {
    return switch (clause) {
      case "PATTERN" -> text.is(at + 1, "LEFT_PAREN");
      case "WITHIN" -> text.is(at - 1, "RIGHT_PAREN") || text.is(at + 1, "INTERVAL");
      case "SUBSET" -> text.is(at + 2, "EQ");
      case "DEFINE", "MEASURES" -> !text.is(at + 1, "COMMA") && !text.is(at + 1, "RIGHT_PAREN");
      default -> true;
    };
  }

  private void replace(String clause, int at, int end) {
    switch (clause) {
      case "PARTITION BY" -> begin(at, at + 1, "P'", true);
      case "ORDER BY" -> {
        begin(at, at + 1, "O'", true);
        for (int i = at + 2; i < end; i++) replaceDirection(i);
      }
      case "MEASURES" -> {
        begin(at, at, "M'", true);
        replaceMeasures(at + 1, end);
      }
      case "ONE ROW PER MATCH" -> {
        begin(at, at + 3, "1'", false);
        if (end > at + 4) throw unexpected(at + 4);
      }
      case "ALL ROWS PER MATCH" -> {
        var options = words(at + 4, end);
        if (!Set.of("", " SHOW EMPTY MATCHES", " OMIT EMPTY MATCHES", " WITH UNMATCHED ROWS")
            .contains(options)) throw unexpected(at + 4);
        begin(at, end - 1, "A" + options + "'", false);
      }
      case "AFTER MATCH SKIP" -> replaceSkip(at, end);
      case "PATTERN" -> replacePattern(at, end);
      case "WITHIN" -> begin(at, at, "W'", true);
      case "SUBSET" -> begin(at, at, "U'", true);
      default -> {
        begin(at, at, "D'", true);
        replaceConditions(at + 1, end);
      }
    }
  }

  /** Writes the text that begins a clause over tokens. */
  private void begin(int first, int last, String mark, boolean hasMore) {
    write(first, last, (this.last == null ? "'§" : ",'§") + mark + (hasMore ? "," : ""));
  }

  private void replaceDirection(int at) {
    switch (upper(at)) {
      case "ASC" -> text.blank(text.tokens.get(at));
      case "DESC" -> write(at, at, ",'D'");
      case "NULLS" -> {
        if (at + 1 < close) write(at, at + 1, ",'%c'".formatted(upper(at + 1).charAt(0)));
      }
      default -> {
        // a column or a comma
      }
    }
  }

  private void replaceMeasures(int from, int end) {
    for (int at = from; at < end; ) {
      int next = endOfItem(at, end);
      if (next - at < 3 || !text.is(next - 2, "AS"))
        throw wrong(at, "A measure needs a name. Write MEASURES LAST(A.price) AS price.");
      joinQualifiers(at, next - 2);
      write(next - 2, next - 2, ",");
      at = next + 1;
    }
  }

  private void replaceConditions(int from, int end) {
    for (int at = from; at < end; ) {
      int next = endOfItem(at, end);
      if (next - at < 3 || !text.is(at + 1, "AS"))
        throw wrong(at, "DEFINE needs conditions of variables. Write DEFINE A AS A.price > 10.");
      joinQualifiers(at + 2, next);
      write(at + 1, at + 1, ",");
      at = next + 1;
    }
  }

  /** Returns the index of the comma after an item of a list, or the end. */
  private int endOfItem(int from, int end) {
    int at = from;
    while (at < end && !text.is(at, "COMMA")) {
      at = text.is(at, "LEFT_PAREN") ? text.closing(at) + 1 : at + 1;
    }
    return Math.min(at, end);
  }

  /** Joins RUNNING and FINAL with the name of the function that they precede. */
  private void joinQualifiers(int from, int end) {
    for (int at = from; at + 2 < end; at++) {
      var word = upper(at);
      if (!word.equals("RUNNING") && !word.equals("FINAL")) continue;
      if (!text.isName(at + 1) || !text.is(at + 2, "LEFT_PAREN")) continue;
      int start = text.tokens.get(at).getStartIndex();
      int stop = text.tokens.get(at + 1).getStopIndex();
      if (text.range(start, stop).contains("\n"))
        throw wrong(at, "Write " + word + " and the function after it on one line.");
      text.write(start, stop, word + "_" + text.word(at + 1));
    }
  }

  private void replaceSkip(int at, int end) {
    var where = words(at + 3, end);
    if (where.equals(" PAST LAST ROW") || where.equals(" TO NEXT ROW")) {
      begin(at, end - 1, "S" + where + "'", false);
      return;
    }
    var hasVariable = end > at + 4 && upper(at + 3).equals("TO") && text.isName(end - 1);
    var to = words(at + 4, end - 1);
    if (!hasVariable || !Set.of("", " FIRST", " LAST").contains(to))
      throw wrong(
          Math.min(at + 3, end - 1),
          "AFTER MATCH SKIP needs PAST LAST ROW, TO NEXT ROW, TO FIRST variable or TO LAST"
              + " variable.");
    begin(at, end - 2, "S TO" + to + "'", true);
  }

  private void replacePattern(int at, int end) {
    int stop = text.closing(at + 1);
    if (end > stop + 1) throw unexpected(stop + 1);
    for (int i = at + 2; i < stop; i++) {
      if (text.word(i).contains("'"))
        throw wrong(i, "PATTERN cannot contain '. Write names of variables.");
    }
    begin(at, at, "R',", false);
    for (int i = at + 1; i < stop; i++) {
      // Between tokens, there are white space and comments.
      int from = text.tokens.get(i).getStopIndex() + 1;
      text.blank(from, text.tokens.get(i + 1).getStartIndex() - 1);
    }
    text.characters[text.tokens.get(at + 1).getStartIndex()] = '\'';
    text.characters[text.tokens.get(stop).getStartIndex()] = '\'';
  }

  /** Returns the words of tokens, each after a blank. */
  private String words(int from, int end) {
    var words = new StringBuilder();
    for (int i = from; i < end; i++) words.append(' ').append(upper(i));
    return words.toString();
  }

  private String upper(int at) {
    return text.word(at).toUpperCase(Locale.ROOT);
  }

  private void write(int first, int last, String replacement) {
    text.write(
        text.tokens.get(first).getStartIndex(), text.tokens.get(last).getStopIndex(), replacement);
  }

  private RuntimeException wrong(int at, String message) {
    var token = text.tokens.get(Math.min(at, text.tokens.size() - 1));
    var place = Origins.at(token.getLine(), token.getCharPositionInLine());
    return Exceptions.raise(JetSqlException.at(place, "PARSE_SYNTAX_ERROR", "42601", message));
  }
}
