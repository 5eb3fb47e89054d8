package dev.jetsql.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.JetSqlException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PatternTextTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      ignoreLeadingAndTrailingWhitespace = false,
      quoteCharacter = '#',
      value = {
        "t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B+) DEFINE B AS B.x > 1) AS m;"
            + "t JOIN LATERAL __ ('§O',    ts ,'§R',  'A B+' ,'§D', B ,  B.x > 1) AS m",
        "match_recognize(partition by a, b order by ts desc nulls last, id asc pattern(a) define a"
            + " as x);JOIN LATERAL __('§P',        a, b ,'§O',   ts ,'D' ,'L'      , id     ,'§R',"
            + " 'a' ,'§D', a ,  x)",
        "MATCH_RECOGNIZE (ORDER BY t MEASURES FINAL LAST(A.x, 1) AS x, f(CAST(1 AS INT), 2) AS y"
            + " ONE ROW PER MATCH PATTERN (A /* , */ | B) DEFINE A AS a, B AS b);JOIN LATERAL __"
            + " ('§O',    t ,'§M',   FINAL_LAST(A.x, 1) ,  x, f(CAST(1 AS INT), 2) ,  y ,'§1'      "
            + "       ,'§R',  'A         | B' ,'§D', A ,  a, B ,  b)",
        "MATCH_RECOGNIZE (ORDER BY t ALL ROWS PER MATCH SHOW EMPTY MATCHES AFTER MATCH SKIP TO"
            + " LAST A PATTERN (A) WITHIN INTERVAL '1' HOUR SUBSET u = (A, B) DEFINE A AS a);"
            + "JOIN LATERAL __ ('§O',    t ,'§A SHOW EMPTY MATCHES'              "
            + ",'§S TO LAST',           A ,'§R',  'A' ,'§W', INTERVAL '1' HOUR ,'§U', u = (A, B)"
            + " ,'§D', A ,  a)",
        "MATCH_RECOGNIZE (ORDER BY t AFTER MATCH SKIP PAST LAST ROW PATTERN (A) DEFINE A AS a);JOIN"
            + " LATERAL __ ('§O',    t ,'§S PAST LAST ROW'            ,'§R',  'A' ,'§D', A ,  a)",
      })
  void replacesTheClauseWithACallOfTheSameLength(String text, String sparkText) {
    assertEquals(sparkText, FlinkText.toSpark(text));
    assertEquals(text.length(), sparkText.length());
  }

  @Test
  void keepsLines() {
    var text = "MATCH_RECOGNIZE (\n  ORDER\n BY t\n PATTERN\n(A -- b\n B)\n DEFINE A AS\n x\n)";
    var spark = FlinkText.toSpark(text);
    assertEquals(text.length(), spark.length());
    for (int i = 0; i < text.length(); i++)
      assertEquals(text.charAt(i) == '\n', spark.charAt(i) == '\n' || i == text.indexOf("\n BY"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT * FROM s match_recognize (a, b)",
        "SELECT * FROM s match_recognize (all)",
        "SELECT match_recognize(pattern) FROM s",
        "SELECT 'MATCH_RECOGNIZE (ORDER BY t)'",
        "FROM t MATCH_RECOGNIZE (ORDER BY t",
      })
  void leavesEveryOtherTextAsItIs(String text) {
    assertEquals(text, FlinkText.toSpark(text));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "(ORDER BY t PATTERN (A) DEFINE A AS x MEASURES A.x AS y);39;MEASURES comes before DEFINE",
        "(ORDER BY t ORDER BY t);13;ORDER BY follows ORDER BY",
        "(ORDER BY t MEASURES A.x PATTERN (A));22;A measure needs a name",
        "(ORDER BY t PATTERN (A) DEFINE x > 1);32;DEFINE needs conditions",
        "(ORDER BY t PATTERN (A) x DEFINE A AS x);25;expects one of",
        "(ORDER BY t PATTERN (A 'b'));24;cannot contain '",
        "(ORDER BY t AFTER MATCH SKIP LAST PATTERN (A));30;needs PAST LAST ROW",
        "(ORDER BY t ONE ROW PER MATCH x);31;expects one of",
        "(ORDER BY t ALL ROWS PER MATCH x);32;expects one of",
      })
  void aWrongClauseHasItsPlace(String clause, int position, String message) {
    var error =
        assertThrows(JetSqlException.class, () -> FlinkText.toSpark("\n MATCH_RECOGNIZE" + clause));
    assertTrue(error.getMessage().contains(message), error.getMessage());
    assertEquals(2, error.line().get());
    assertEquals(position + 15, error.startPosition().get());
  }
}
