package dev.jetsql.parser;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.jetsql.common.Json;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ParametersTest {
  private static Literal literal(String json) {
    return Parameters.literal(Json.read(json), "Europe/Berlin");
  }

  @ParameterizedTest
  @CsvSource({
    "BIGINT, 9007199254740993, 9007199254740993L",
    "INT, -1, -1",
    "'DECIMAL(4,2)', 12.50, 12.50BD",
    "BOOLEAN, true, true",
    "DATE, 2024-02-29, DATE '2024-02-29'",
    "STRING, it's, '''it\\''s'''",
  })
  void aTextBecomesTheLiteralOfItsType(String type, String text, String sql) {
    assertEquals(sql, literal("{\"type\": \"" + type + "\", \"value\": \"" + text + "\"}").sql());
  }

  @Test
  void aTimestampIsOfTheSessionsTimeZone() {
    var noon = literal("{\"type\": \"TIMESTAMP\", \"value\": \"2024-07-01 12:00:00\"}");
    assertEquals(1719828000000000L, noon.value());
  }

  @Test
  void bytesComeInBase64AndNullIsOfItsType() {
    assertArrayEquals(
        new byte[] {1, 2}, (byte[]) literal("{\"type\": \"BINARY\", \"value\": \"AQI=\"}").value());
    var missing = literal("{\"type\": \"DOUBLE\", \"value\": null}");
    assertNull(missing.value());
    assertEquals("double", missing.dataType().simpleString());
  }

  @Test
  void aTextThatIsNoValueOfItsTypeIsRefused() {
    assertThrows(Exception.class, () -> literal("{\"type\": \"INT\", \"value\": \"ten\"}"));
  }
}
