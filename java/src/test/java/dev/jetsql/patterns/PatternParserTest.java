package dev.jetsql.patterns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PatternParserTest {
  private static final RowPattern A = new RowPattern.Variable("A");
  private static final RowPattern B = new RowPattern.Variable("B");

  @Test
  void readsVariablesGroupsAndChoices() {
    assertEquals(
        new RowPattern.Sequence(
            List.of(A, new RowPattern.Choice(List.of(B, new RowPattern.Variable("C D"))), A)),
        PatternParser.parse(" a (b | `c d`)\n A "));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "A*;0;2147483647;false",
        "A +?;1;2147483647;true",
        "A??;0;1;true",
        "A{3};3;3;false",
        "A{2,}?;2;2147483647;true",
        "A{ 2 , 4 };2;4;false",
        "A{,4};0;4;false",
      })
  void readsQuantifiers(String text, int least, int most, boolean isReluctant) {
    assertEquals(new RowPattern.Repeat(A, least, most, isReluctant), PatternParser.parse(text));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        ";0;expects a variable",
        "A |;3;expects a variable",
        "A (B;2;lacks the closing parenthesis",
        "A B);3;closing parenthesis too many",
        "A ();2;empty pattern",
        "+ A;0;needs a variable before it",
        "A{2;3;A quantifier is {n}",
        "A{,};3;A quantifier is {n}",
        "A{3,2};1;not less than the first",
        "A{0};1;above zero",
        "A{1001};2;at most 1000",
        "A{99999999999};2;at most 1000",
        "A+*;2;follows a quantifier",
        "^ A;0;anchors",
        "A {- B -};2;exclusion",
        "PERMUTE(A, B);0;PERMUTE",
        "A & B;2;cannot contain '&'",
        "A `b;2;open back quote",
        "((A{1000}){1000}){1000};0;too long",
      })
  void aWrongPatternHasItsPlace(String text, int offset, String message) {
    var wrong = text == null ? "" : text;
    var error = assertThrows(PatternParser.WrongPattern.class, () -> PatternParser.parse(wrong));
    assertTrue(error.getMessage().contains(message), error.getMessage());
    assertEquals(offset, error.offset());
  }

  @Test
  void manyParenthesesAreRefused() {
    var text = "(".repeat(5000) + "A" + ")".repeat(5000);
    assertThrows(PatternParser.WrongPattern.class, () -> PatternParser.parse(text));
  }

  @ParameterizedTest
  @CsvSource({"A*,true", "A?|B,true", "A+,false", "(A|B*) C?,true", "A*? B,false", "(A?){3},true"})
  void knowsWhetherNoRowsMatch(String text, boolean expected) {
    assertEquals(expected, PatternParser.parse(text).matchesNoRows());
  }

  @Test
  void knowsWhatMatchesCanLack() {
    assertTrue(PatternParser.parse("A B?").lacks(Set.of("B")));
    assertTrue(PatternParser.parse("A | B").lacks(Set.of("B")));
    assertFalse(PatternParser.parse("A | B").lacks(Set.of("A", "B")));
    assertFalse(PatternParser.parse("A (B C?)+").lacks(Set.of("B")));
  }

  @Test
  void knowsWhatMatchesCanBeginWith() {
    assertTrue(PatternParser.parse("A? B").beginsWith(Set.of("B")));
    assertFalse(PatternParser.parse("A B").beginsWith(Set.of("B")));
    assertTrue(PatternParser.parse("(A | C) B").beginsWith(Set.of("C")));
    assertTrue(PatternParser.parse("A+ B").endsAtFirst(Set.of("A")));
    assertFalse(PatternParser.parse("A{2,} B").endsAtFirst(Set.of("A")));
    assertFalse(PatternParser.parse("A B A").endsAtFirst(Set.of("A")));
    assertTrue(PatternParser.parse("A B A?").endsAtFirst(Set.of("A")));
  }

  @Test
  void knowsWhetherAMatchHasALimit() {
    assertTrue(PatternParser.parse("A (B{2,5} C+)?").isUnbounded());
    assertFalse(PatternParser.parse("A (B{2,5} C?)?").isUnbounded());
  }
}
