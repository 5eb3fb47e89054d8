package dev.jetsql.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FlinkTextTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "TABLE(TUMBLE(TABLE b, DESCRIPTOR(t), x)) w|      TUMBLE(TABLE(b),DESCRIPTOR(t), x)  w",
        "table ( hop(TABLE(b), descriptor(t)) ) a|        hop(TABLE(b), descriptor(t))   a",
        "TUMBLE(DATA => TABLE  a.b , DESCRIPTOR(t))|TUMBLE(DATA => TABLE( a.b), DESCRIPTOR(t))",
        "SESSION(TABLE b PARTITION BY k, DESCRIPTOR(t))|SESSION(TABLE(b)PARTITION"
            + " BY(k),DESCRIPTOR(t))",
        "SESSION(TABLE(b) PARTITION BY k, l.m, DESCRIPTOR(t))|SESSION(TABLE(b) PARTITION BY(k,"
            + " l.m),DESCRIPTOR(t))",
        "JOIN d FOR SYSTEM_TIME AS OF b.p AS d|JOIN d WITH(as_of='b.p')         AS d",
        "JOIN d FOR SYSTEM_TIME AS OF p ON|JOIN d WITH(as_of='p')         ON",
        "d FOR SYSTEM_TIME AS OF PROCTIME() ON|d                                  ON",
        "é💡 d FOR SYSTEM_TIME AS OF `p q` ON|é💡 d WITH(as_of='`p q`')         ON",
      })
  void replacesAClauseWithATextOfTheSameLength(String text, String sparkText) {
    assertEquals(sparkText, FlinkText.toSpark(text));
    assertEquals(text.length(), sparkText.length());
  }

  @Test
  void keepsLines() {
    assertEquals(
        "TUMBLE(TABLE(b)\n, DESCRIPTOR(t))",
        FlinkText.toSpark("TUMBLE(TABLE b,\n  DESCRIPTOR(t))"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "d FOR/SYSTEM_TIME/AS/OF/p ON|d WITH(as_of='p')// /  /  ON",
        "d FOR SYSTEM_TIME/  AS OF p/ ON|d WITH(as_of='p')/         / ON",
        "d/FOR SYSTEM_TIME AS OF/  p ON|d/WITH(as_of='p')      /    ON",
        "d FOR SYSTEM_TIME -- a/ AS OF p ON|d WITH(as_of='p')     /         ON",
        "d FOR SYSTEM_TIME AS/ OF PROCTIME(/) ON|d                   /             /  ON",
      })
  void keepsLinesOfReplacedClauses(String text, String sparkText) {
    assertEquals(sparkText.replace('/', '\n'), FlinkText.toSpark(text.replace('/', '\n')));
    assertEquals(text.length(), sparkText.length());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT 'TABLE(TUMBLE(DESCRIPTOR(t)))' -- FOR SYSTEM_TIME AS OF p",
        "FROM TABLE(other(TABLE b, DESCRIPTOR(t)))",
        "FROM TABLE(TUMBLE(TABLE b, t)) WHERE DESCRIPTOR(t)",
        "FROM TABLE(TUMBLE(TABLE(b), DESCRIPTOR(t)), 1)",
        "FROM TUMBLE(TABLE b,DESCRIPTOR(t))",
        "FROM TUMBLE(TABLE b,\nDESCRIPTOR(t))",
        "d FOR SYSTEM_TIME AS OF '2026-01-01'",
        "d FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01'",
        "d FOR SYSTEM_TIME AS OF current_timestamp()",
        "d FOR SYSTEM_TIME AS OF `it's`",
        "SELECT system_time AS of FROM d",
      })
  void leavesEveryOtherTextAsItIs(String text) {
    assertEquals(text, FlinkText.toSpark(text));
  }

  @Test
  void aTextWithoutTheWordsIsNotRead() {
    var text = "SELECT 1";
    assertSame(text, FlinkText.toSpark(text));
  }
}
