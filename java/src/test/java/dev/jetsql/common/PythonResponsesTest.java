package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Timestamp;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.jdk.javaapi.CollectionConverters;

class PythonResponsesTest {
  @Test
  void rowsHaveTheTypesOfTheirColumns() {
    var columns =
        StructType.fromDDL(
            "n BIGINT, i INT, d DOUBLE, b BOOLEAN, s STRING, a ARRAY<INT>, m MAP<STRING, BIGINT>");
    var response =
        PythonResponses.of(
            "{\"rows\": [[1, 2, 0.5, true, \"text\", [1, 2], {\"k\": 3}], [null, 0, 1, false, \"\","
                + " [], {}]]}");
    var rows = CollectionConverters.asJava(PythonResponses.rows(response, columns));
    assertEquals(2, rows.size());
    assertEquals(
        List.of(1L, 2, 0.5, true, "text"),
        CollectionConverters.asJava(rows.get(0).toSeq()).subList(0, 5));
    assertEquals(List.of(1, 2), rows.get(0).getList(5));
    assertEquals(Map.of("k", 3L), rows.get(0).getJavaMap(6));
    assertNull(rows.get(1).get(0));
  }

  @Test
  void aRowTakesItsValuesFromTheirPlaces() {
    var columns = StructType.fromDDL("b STRING, a STRING");
    var row = PythonResponses.row(Json.read("[\"a\", \"x\", \"b\"]"), columns, new int[] {2, 0});
    assertEquals("[b,a]", row.toString());
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1970-01-01T00:00:00Z",
    "1.5, 1970-01-01T00:00:01.500Z",
    "-0.000001, 1969-12-31T23:59:59.999999Z",
    "1700000000.1234565, 2023-11-14T22:13:20.123456Z",
    "1700000000.9999999, 2023-11-14T22:13:21Z",
  })
  void timestampsAreRoundedToMicroseconds(double seconds, String instant) {
    assertEquals(instant, PythonResponses.timestampOf(seconds).toInstant().toString());
    assertEquals(Timestamp.class, PythonResponses.timestampOf(seconds).getClass());
  }

  @Test
  void anErrorKeepsItsConditionAndPlace() {
    var error =
        "{\"error\": {\"message\": \"no\", \"condition\": \"JETSQL.X\", \"sqlstate\": \"42000\","
            + " \"line\": 2, \"position\": null}}";
    var thrown = assertThrows(JetSqlException.class, () -> PythonResponses.of(error));
    assertEquals("JETSQL.X", thrown.getCondition());
    assertEquals("42000", thrown.getSqlState());
    assertEquals(2, thrown.line().get());
    assertEquals("no; line 2", thrown.toString());
    assertEquals(true, thrown.startPosition().isEmpty());
  }

  @Test
  void anErrorOfSparkIsThrownAsItIs() {
    var error = new IllegalStateException("of Spark");
    assertSame(error, assertThrows(IllegalStateException.class, () -> PythonResponses.of(error)));
    assertNull(PythonResponses.of(null));
  }
}
