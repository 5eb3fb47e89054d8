package dev.jetsql.records;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class JsonRecordsTest {
  private static final StructType COLUMNS =
      new StructType().add("id", DataTypes.IntegerType).add("s", DataTypes.StringType);
  private static final ObjectMapper WHOLE =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private final JsonRecords records = new JsonRecords(COLUMNS, Map.of(), "UTC");

  private boolean fits(String text) {
    var row = records.row(text.getBytes(UTF_8));
    return row != null && row.isNullAt(2);
  }

  private String reason(String text) {
    var problem = records.problem(text.getBytes(UTF_8));
    return problem == null ? null : problem.toString();
  }

  @Test
  void keepsTheTextOfAValueInAStringColumn() {
    for (String value :
        new String[] {"1.10", "12345678901234567890.12", "{\"a\": 1.0}", "[1.50]"}) {
      var row = records.row(("{\"id\": 1, \"s\": " + value + "}").getBytes(UTF_8));
      assertEquals(value, row.getUTF8String(1).toString());
    }
  }

  @Test
  void namesTheColumnsOfAnotherType() {
    byte[] text = "{\"id\": \"x\", \"s\": 1}".getBytes(UTF_8);
    assertNull(records.problem(text));
    assertEquals("id is not of type INT", records.misfits(text).toString());
  }

  @Test
  void readsAnArrayOnlyInFiles() {
    var ofFiles = new JsonRecords(COLUMNS, Map.of(), "UTC", true);
    byte[] text = "[{\"id\": 1}]".getBytes(UTF_8);
    assertTrue(ofFiles.row(text).isNullAt(2));
    assertNull(ofFiles.problem(text));
    assertFalse(fits("[{\"id\": 1}]"));
    assertEquals("it is not a JSON object", reason("[{\"id\": 1}]"));
  }

  /** A text fits if it is one document of another parser that reads texts to their end. */
  @Test
  void agreesWithAParserOfWholeTexts() {
    var random = new Random(39);
    String[] parts = {
      "{}", "{\"s\":\"a\"}", "{\"s\":{\"b\":[1,{}]}}", " ", "\n", "}", "{", "]", "1", "x", ","
    };
    for (int i = 0; i < 3000; i++) {
      var text = new StringBuilder();
      for (int n = random.nextInt(4); n >= 0; n--) text.append(parts[random.nextInt(parts.length)]);
      boolean isObject;
      try {
        isObject = WHOLE.readTree(text.toString()).isObject();
      } catch (JsonProcessingException e) {
        isObject = false;
      }
      assertEquals(isObject, fits(text.toString()), text.toString());
      assertEquals(isObject, reason(text.toString()) == null, text.toString());
    }
  }
}
