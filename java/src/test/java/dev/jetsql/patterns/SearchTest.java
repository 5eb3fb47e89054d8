package dev.jetsql.patterns;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SearchTest {
  private static final List<String> VARIABLES = List.of("A", "B", "C");

  /** Rows that are letters; a variable fits its own letter and x. */
  private record Letters(String letters, boolean isComplete) implements Search.Rows {
    @Override
    public boolean has(int row) {
      if (row >= letters.length() && !isComplete) throw new Search.Undecided();
      return row < letters.length();
    }

    @Override
    public boolean fits(Path path, int variable) {
      char letter = letters.charAt(path.end() - 1);
      return letter == 'x' || letter == "abc".charAt(variable);
    }
  }

  private static Search search(String pattern, boolean isByRow) {
    return new Search(PatternParser.parse(pattern), VARIABLES, isByRow, 100_000);
  }

  /** Returns the variables of the match at the first row, or null. */
  private static String find(String pattern, String letters, boolean isByRow) {
    var path = search(pattern, isByRow).find(0, new Letters(letters, true));
    if (path == null) return null;
    var names = new StringBuilder();
    for (int variable : path.variables()) names.append(VARIABLES.get(variable));
    return names.toString();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "A B+ C;abbbc;ABBBC",
        "A B+;abxa;ABB",
        "A B+?;abxa;AB",
        "A B*? C;abxc;ABC",
        "A | A B;ab;A",
        "A B | A;ab;AB",
        "(A | B)+ C;abac;ABAC",
        "(A B){2};ababab;ABAB",
        "(A B){2,};ababab;ABABAB",
        "A{,2} B;xxb;AAB",
        "(A?)* B;aab;AAB",
        "(A* B*)+ C;abac;ABAC",
        "(A* B*)* C;c;C",
        "((A?){2,3} B?)* C;aabac;AABAC",
        "A+ A;aaa;AAA",
      })
  void findsThePreferredMatch(String pattern, String letters, String expected) {
    assertEquals(expected, find(pattern, letters, false));
    assertEquals(expected, find(pattern, letters, true));
  }

  @Test
  void noMatchIsNull() {
    assertNull(find("A B", "ac", false));
    assertNull(find("A B", "a", false));
    assertNull(find("A+ B", "aaaa", true));
  }

  @Test
  void randomPatternsMatchAsRegularExpressions() {
    var random = new Random(7);
    for (int i = 0; i < 3000; i++) {
      var pattern = pattern(random, 3);
      var letters = new StringBuilder();
      for (int n = random.nextInt(9); n > 0; n--) letters.append("abcx".charAt(random.nextInt(4)));
      var expression =
          Pattern.compile(
              pattern.replaceAll("([ABC])", "[$1x]").replace(" ", "").toLowerCase(Locale.ROOT));
      var matcher = expression.matcher(letters);
      var expected = matcher.lookingAt() ? matcher.end() : -1;
      for (boolean isByRow : new boolean[] {false, true}) {
        var found = find(pattern, letters.toString(), isByRow);
        assertEquals(expected, found == null ? -1 : found.length(), pattern + " in " + letters);
      }
    }
  }

  /** Returns a pattern of which no repeated part matches no rows. */
  private static String pattern(Random random, int depth) {
    int kind = depth == 0 ? 0 : random.nextInt(4);
    if (kind == 0) return List.of("A", "B", "C").get(random.nextInt(3));
    var first = pattern(random, depth - 1);
    if (kind == 1) return first + " " + pattern(random, depth - 1);
    if (kind == 2) return "(" + first + " | " + pattern(random, depth - 1) + ")";
    if (PatternParser.parse(first).matchesNoRows()) return first;
    var quantifiers = List.of("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}?", "{0,2}?");
    return "(" + first + ")" + quantifiers.get(random.nextInt(quantifiers.size()));
  }

  @Test
  void rowsThatMayArriveAreAwaitedIfTheyDecide() {
    var rows = new Letters("ab", false);
    assertThrows(Search.Undecided.class, () -> search("A B+", false).find(0, rows));
    assertThrows(Search.Undecided.class, () -> search("A B C", false).find(0, rows));
    assertEquals(2, search("A B+?", false).find(0, rows).end());
    assertNull(search("A C", false).find(0, rows));
  }

  @Test
  void aSearchBeginsAtItsRow() {
    var path = search("B+", false).find(1, new Letters("abba", true));
    assertEquals(1, path.start());
    assertEquals(3, path.end());
    assertArrayEquals(new int[] {1, 2}, path.rows(List.of(1), 2));
    assertArrayEquals(new int[] {1}, path.rows(null, 1));
    assertEquals(-1, path.row(List.of(1), false, 2, 2));
    assertEquals(2, path.row(List.of(0, 1), false, 0, 2));
    assertEquals(1, path.row(List.of(0, 1), true, 0, 2));
    assertEquals(-1, path.variable(3));
  }

  @ParameterizedTest
  @ValueSource(strings = {"(A+)+ B", "(A | A | C A)+ B", "(A* A*)+ C"})
  void anEvilPatternIsRefusedAfterItsSteps(String pattern) {
    var rows = new Letters("a".repeat(60), true);
    assertThrows(Search.TooManySteps.class, () -> search(pattern, false).find(0, rows));
  }

  @Test
  void conditionsOfSingleRowsNeedFewSteps() {
    var rows = new Letters("a".repeat(60), true);
    assertNull(search("(A+)+ B", true).find(0, rows));
    assertNull(search("(A | A | C A)+ B", true).find(0, rows));
  }
}
