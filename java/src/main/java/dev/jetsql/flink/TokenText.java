package dev.jetsql.flink;

import java.util.List;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;

/** A text of SQL and its tokens, of which parts are replaced by texts of the same length. */
class TokenText {
  final List<? extends Token> tokens;
  final int[] characters;

  TokenText(String text) {
    var lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners();
    tokens =
        lexer.getAllTokens().stream()
            .filter(token -> token.getChannel() == Token.DEFAULT_CHANNEL)
            .toList();
    characters = text.codePoints().toArray();
  }

  String text() {
    return new String(characters, 0, characters.length);
  }

  /** Returns the index of a blank in the white space after a token, or -1. A line break stays. */
  int blankAfter(Token token) {
    for (var index = token.getStopIndex() + 1; index < characters.length; index++) {
      if (characters[index] == ' ' || characters[index] == '\t') return index;
      if (!Character.isWhitespace(characters[index])) return -1;
    }
    return -1;
  }

  /** Returns the index of the parenthesis that closes the one at `open`; the end if none does. */
  int closing(int open) {
    var depth = 0;
    for (var at = open; at < tokens.size(); at++) {
      if (is(at, "LEFT_PAREN")) depth++;
      else if (is(at, "RIGHT_PAREN")) depth--;
      if (depth == 0) return at;
    }
    return tokens.size();
  }

  /** Returns the index of the last part of a qualified name. */
  int lastOfName(int first) {
    var last = first;
    while (is(last + 1, "DOT") && last + 2 < tokens.size() && isName(last + 2)) last += 2;
    return last;
  }

  String range(int start, int stop) {
    return new String(characters, start, stop - start + 1);
  }

  /**
   * Writes a text over a range that has room for it and for the line breaks of the range. Line
   * breaks where the text is written go after the text, so that the lines that follow keep their
   * numbers.
   */
  void write(int start, int stop, String text) {
    blank(start, stop);
    var at = start;
    var lineBreaks = 0;
    for (var character : text.codePoints().toArray()) {
      if (characters[at] == '\n') lineBreaks++;
      characters[at++] = character;
    }
    for (; lineBreaks > 0; at++) {
      if (characters[at] == '\n') continue;
      characters[at] = '\n';
      lineBreaks--;
    }
  }

  void blank(Token token) {
    blank(token.getStartIndex(), token.getStopIndex());
  }

  /** Replaces a range with blanks. Its line breaks stay. */
  void blank(int start, int stop) {
    for (var index = start; index <= stop; index++) {
      if (characters[index] != '\n') characters[index] = ' ';
    }
  }

  boolean isName(int at) {
    var text = word(at);
    return Character.isUnicodeIdentifierStart(text.codePointAt(0)) || text.startsWith("`");
  }

  String word(int at) {
    return range(tokens.get(at).getStartIndex(), tokens.get(at).getStopIndex());
  }

  /**
   * Returns whether a token has this name in Spark's grammar. The numbers of the tokens differ
   * between versions of Spark, and javac copies them into this class.
   */
  boolean is(int at, String name) {
    return at >= 0
        && at < tokens.size()
        && name.equals(SqlBaseLexer.VOCABULARY.getSymbolicName(tokens.get(at).getType()));
  }
}
