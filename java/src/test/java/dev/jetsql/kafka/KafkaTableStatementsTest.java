package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.jetsql.common.JetSqlException;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KafkaTableStatementsTest {
  private static void check(String definition) {
    KafkaTableStatements.check(
        null, CatalystSqlParser$.MODULE$.parsePlan("CREATE TABLE t (a INT, " + definition));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "b INT GENERATED ALWAYS AS (a + 1)) USING json",
        "b BIGINT GENERATED ALWAYS AS IDENTITY) USING parquet",
        "b INT GENERATED ALWAYS AS (a + 1))"
      })
  void leavesTablesOfOtherFormatsToSpark(String definition) {
    assertDoesNotThrow(() -> check(definition));
  }

  @Test
  void refusesGeneratedColumns() {
    var error =
        assertThrows(
            JetSqlException.class, () -> check("b INT GENERATED ALWAYS AS (a + 1)) USING kafka"));
    assertEquals("JETSQL.NOT_SUPPORTED", error.getCondition());
  }
}
