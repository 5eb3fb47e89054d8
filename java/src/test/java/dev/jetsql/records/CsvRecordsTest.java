package dev.jetsql.records;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class CsvRecordsTest {
  private static final StructType COLUMNS =
      new StructType().add("id", DataTypes.IntegerType).add("s", DataTypes.StringType);

  private final CsvRecords records = new CsvRecords(COLUMNS, Map.of(), "UTC");

  private String text(String line) {
    return records.row(line.getBytes(UTF_8)).getUTF8String(1).toString();
  }

  private String reason(String line) {
    assertFalse(records.row(line.getBytes(UTF_8)).isNullAt(2), line);
    return records.problem(line.getBytes(UTF_8)).toString();
  }

  @Test
  void theEndOfTheLineIsNoPartOfAValue() {
    assertEquals("a", text("1,a\n"));
    assertEquals("a", text("1,a\r\n"));
    assertEquals("a\nb", text("1,\"a\nb\"\n"));
  }

  @Test
  void aLineThatDoesNotFitHasAReason() {
    assertEquals("it has more than one line", reason("1,a\n2,b"));
    assertEquals("it has more than one line", reason("1,\"a\nb\"\n2"));
    assertEquals("it has 1 values for 2 columns", reason("1"));
    assertEquals("it has 3 values for 2 columns", reason("1,a,b"));
    assertEquals("id is not of type INT", reason("x,a"));
  }

  @Test
  void linesOfOneColumnAreCounted() {
    var one = new CsvRecords(new StructType().add("s", DataTypes.StringType), Map.of(), "UTC");
    assertFalse(one.row("a\nb".getBytes(UTF_8)).isNullAt(1));
    assertTrue(one.row("a\n".getBytes(UTF_8)).isNullAt(1));
  }
}
