package dev.jetsql.patterns;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Reads the text in PATTERN ( ... ). Variables are compared without case. */
public final class PatternParser {
  /** The largest number in a quantifier. */
  public static final int MOST = 1000;

  private static final int MAX_DEPTH = 100;

  private final String text;
  private int at;
  private int depth;

  private PatternParser(String text) {
    this.text = text;
  }

  /** A wrong pattern. The message is a sentence, with what to write. */
  public static final class WrongPattern extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int offset;

    private WrongPattern(int offset, String message) {
      super(message);
      this.offset = offset;
    }

    /** Returns the index of the wrong character in the text. */
    public int offset() {
      return offset;
    }
  }

  /** Returns the pattern of a text. Throws WrongPattern. */
  public static RowPattern parse(String text) {
    var parser = new PatternParser(text);
    var pattern = parser.choice();
    if (parser.at < text.length())
      throw parser.wrong("PATTERN has a closing parenthesis too many. Remove it.");
    try {
      Program.of(pattern, List.copyOf(pattern.variables()));
    } catch (Program.TooLong e) {
      parser.at = 0;
      throw parser.wrong(
          "PATTERN is too long: all quantifiers together repeat its variables more than %d times."
              .formatted(Program.MOST));
    }
    return pattern;
  }

  private RowPattern choice() {
    if (++depth > MAX_DEPTH) throw wrong("PATTERN has too many parentheses within each other.");
    var options = new ArrayList<RowPattern>();
    do options.add(sequence());
    while (accept('|'));
    depth--;
    return options.size() == 1 ? options.get(0) : new RowPattern.Choice(List.copyOf(options));
  }

  private RowPattern sequence() {
    var parts = new ArrayList<RowPattern>();
    for (var next = peek(); next != '|' && next != ')' && next != 0; next = peek())
      parts.add(repeated());
    if (parts.isEmpty())
      throw wrong("PATTERN expects a variable here. Write a name, such as PATTERN (A B+).");
    return parts.size() == 1 ? parts.get(0) : new RowPattern.Sequence(List.copyOf(parts));
  }

  private RowPattern repeated() {
    var part = single();
    var next = peek();
    int start = at;
    int least = 0;
    int most = RowPattern.UNBOUNDED;
    if (next == '+') least = 1;
    else if (next == '?') most = 1;
    else if (next != '*' && (next != '{' || text.startsWith("{-", at))) return part;
    at++;
    if (next == '{') {
      var isList = true;
      var first = number();
      if (accept(',')) most = number();
      else isList = false;
      if ((first < 0 && (!isList || most < 0)) || !accept('}'))
        throw wrong("A quantifier is {n}, {n,}, {n,m} or {,m} with numbers.");
      least = Math.max(first, 0);
      if (!isList) most = first;
      else if (most < 0) most = RowPattern.UNBOUNDED;
      if (most == 0 || least > most) {
        at = start;
        throw wrong(
            "The second number of a quantifier must be above zero and not less than the first"
                + " one.");
      }
    }
    var isReluctant = accept('?');
    next = peek();
    if (next == '+' || next == '*' || next == '?' || next == '{')
      throw wrong("A quantifier follows a quantifier. Put the first one in parentheses: (A+)*.");
    return new RowPattern.Repeat(part, least, most, isReluctant);
  }

  /** Reads a number; -1 if there is none. */
  private int number() {
    peek();
    int start = at;
    while (at < text.length() && Character.isDigit(text.charAt(at))) at++;
    if (start == at) return -1;
    var digits = text.substring(start, at);
    if (digits.length() > 9 || Integer.parseInt(digits) > MOST) {
      at = start;
      throw wrong("A number of a quantifier can be at most %d.".formatted(MOST));
    }
    return Integer.parseInt(digits);
  }

  private RowPattern single() {
    int start = at;
    if (accept('(')) {
      if (peek() == ')') {
        at = start;
        throw wrong(
            "The empty pattern () is not supported. Write A? for a row that may be absent.");
      }
      var pattern = choice();
      if (!accept(')')) {
        at = start;
        throw wrong("PATTERN lacks the closing parenthesis of this one.");
      }
      return pattern;
    }
    var name = name();
    if (name.equals("PERMUTE") && peek() == '(') {
      at = start;
      throw wrong("PERMUTE is not supported. Write the orders with |, such as (A B | B A).");
    }
    return new RowPattern.Variable(name);
  }

  private String name() {
    var next = peek();
    int start = at;
    if (next == '`') {
      int end = text.indexOf('`', start + 1);
      if (end <= start + 1) throw wrong("PATTERN has an open back quote. Close it.");
      at = end + 1;
      return text.substring(start + 1, end).toUpperCase(Locale.ROOT);
    }
    if (!Character.isUnicodeIdentifierStart(next) && next != '_') throw wrongStart(next);
    while (at < text.length() && isNamePart(text.charAt(at))) at++;
    return text.substring(start, at).toUpperCase(Locale.ROOT);
  }

  private static boolean isNamePart(char next) {
    return Character.isUnicodeIdentifierPart(next) || next == '_';
  }

  private WrongPattern wrongStart(char found) {
    if (found == '^' || found == '$')
      return wrong(
          "The anchors ^ and $ are not supported. Leave them out; a stream has no last row.");
    if (text.startsWith("{-", at))
      return wrong(
          "The exclusion {- -} is not supported. Leave it out, and filter the rows of ALL ROWS PER"
              + " MATCH by CLASSIFIER().");
    if ("*+?{".indexOf(found) >= 0)
      return wrong("A quantifier needs a variable before it. Write A" + found + ".");
    return wrong(
        "PATTERN cannot contain '%c'. Write variables, parentheses, | and the quantifiers * + ?"
                .formatted(found)
            + " {n,m}.");
  }

  /** Skips white space, and returns the next character, or 0 at the end. */
  private char peek() {
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
    return at < text.length() ? text.charAt(at) : 0;
  }

  private boolean accept(char expected) {
    if (peek() != expected) return false;
    at++;
    return true;
  }

  private WrongPattern wrong(String message) {
    return new WrongPattern(at, message);
  }
}
