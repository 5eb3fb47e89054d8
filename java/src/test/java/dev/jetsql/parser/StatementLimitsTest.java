package dev.jetsql.parser;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.jetsql.common.JetSqlException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StatementLimitsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "SELECT |(|1|)|200",
        "SELECT |abs( |1| )|200",
        "SELECT a|[ 0|''|]|200",
        "SELECT |case when a then |1| END|200",
        "SELECT |CASE WHEN ( |1|) THEN 1 END|100",
        "SELECT CAST(a AS |array<|INT|>|199",
        "SELECT CAST(a AS |STRUCT < a : |INT|>|199",
        "SELECT CAST(a AS |MAP/* c */<INT, |INT|>|199",
        "|SELECT * FROM (|SELECT 1|)|200",
        "|BEGIN |SELECT 1;| END;|200",
        "SELECT |/* |c| */|20",
      })
  void levelsAreLimited(String start, String open, String middle, String close, int most) {
    var allowed = start(start) + open.repeat(most) + middle + close.repeat(most);
    assertDoesNotThrow(() -> StatementLimits.check(allowed));
    var refused = start(start) + "\n" + open.repeat(most + 1) + middle + close.repeat(most + 1);
    var error = assertThrows(JetSqlException.class, () -> StatementLimits.check(refused));
    assertEquals("JETSQL.STATEMENT_TOO_COMPLEX", error.getCondition());
    assertEquals(2, error.line().get());
  }

  private static String start(String text) {
    return text == null ? "" : text;
  }

  @Test
  void theErrorIsAtTheFirstBracketThatIsTooDeep() {
    var text = "SELECT\n  " + "(".repeat(300) + "1" + ")".repeat(300);
    var error = assertThrows(JetSqlException.class, () -> StatementLimits.check(text));
    assertEquals(2, error.line().get());
    assertEquals(202, error.startPosition().get());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT '%s'",
        "SELECT \"%s\"",
        "SELECT r'\\', '%s', r\"\\\"",
        "SELECT 'it''s \\' %s'",
        "SELECT `%s`",
        "SELECT 1 -- %s",
        "SELECT 1 -- a \\\n %s\n, 2",
        "SELECT /* %s */ 1",
        "SELECT /* /* */ %s */ 1",
        "CREATE FUNCTION f() AS $$%s$$",
        "CREATE FUNCTION f() AS $a$ $$ %s $a$",
      })
  void bracketsInQuotesAndCommentsAreNoLevels(String text) {
    var brackets = "(".repeat(300);
    assertDoesNotThrow(() -> StatementLimits.check(text.formatted(brackets)));
    var behind = text.formatted("") + "\n" + brackets;
    assertThrows(JetSqlException.class, () -> StatementLimits.check(behind));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "(1), ",
        "a[0] + ",
        "CASE WHEN a THEN 1 END + ",
        "a < b AND c > d AND array < 1 AND ",
        "CAST(a AS ARRAY<MAP<INT, STRUCT<a: INT>>>), ",
        "t.case, t.begin, ",
        "(CASE, BEGIN), ",
        "/*+ a */ ",
        "/* a */ ",
        "] ) > END ",
      })
  void levelsThatEndDoNotAddUp(String part) {
    assertDoesNotThrow(() -> StatementLimits.check("SELECT " + part.repeat(150)));
  }

  @Test
  void tokensAreLimited() {
    assertDoesNotThrow(() -> StatementLimits.check("SELECT 1, 'a b c' /* d */ -- e", 5));
    var error =
        assertThrows(
            JetSqlException.class, () -> StatementLimits.check("SELECT\n 1, 'a b c', 2, 3", 6));
    assertEquals(2, error.line().get());
    assertEquals(14, error.startPosition().get());
  }
}
