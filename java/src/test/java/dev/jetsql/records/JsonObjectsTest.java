package dev.jetsql.records;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class JsonObjectsTest {
  private static final StructType COLUMNS =
      new StructType().add("id", DataTypes.LongType).add("name", DataTypes.StringType);

  @Test
  void oddMessagesAreReadAsBySpark() {
    var messages = new OddMessages(new Random(50));
    int fitting = 0;
    for (int i = 0; i < OddMessages.COUNT; i += 500) {
      var columns = messages.columns();
      var records = new JsonRecords(columns, Map.of(), "Europe/Berlin");
      var toBytes = UnsafeProjection.create(columns.add(JsonRecords.BROKEN, DataTypes.StringType));
      for (int n = 0; n < 500; n++) {
        byte[] message = messages.message(columns);
        String text = columns.toDDL() + "\n" + new String(message, UTF_8);
        byte[] expected = bytes(records.rowBySpark(message), toBytes);
        var row = records.row(message);
        assertArrayEquals(expected, bytes(row, toBytes), text);
        if (row != null && row.isNullAt(columns.length())) fitting++;
      }
    }
    assertTrue(
        fitting > OddMessages.COUNT / 10 && fitting < OddMessages.COUNT * 9 / 10, fitting + "");
  }

  private static byte[] bytes(InternalRow row, UnsafeProjection toBytes) {
    return row == null ? null : toBytes.apply(row).copy().getBytes();
  }

  @Test
  void theLastFieldOfANameCountsInAnyOrder() {
    var records = new JsonRecords(COLUMNS, Map.of(), "UTC");
    var row = records.row("{\"name\":\"a\",\"id\":1,\"x\":[{}],\"name\":\"b\"}".getBytes(UTF_8));
    assertEquals("b", row.getUTF8String(1).toString());
    assertEquals(1, row.getLong(0));
    assertTrue(records.row("{\"id\":2}".getBytes(UTF_8)).isNullAt(1));
  }

  @Test
  void columnsWithDefaultsAndWholeObjectsAreReadBySpark() {
    var asDefault = new MetadataBuilder().putString("EXISTS_DEFAULT", "7").build();
    var withDefault = COLUMNS.add("n", DataTypes.IntegerType, true, asDefault);
    assertTrue(JsonObjects.canRead(COLUMNS, Set.of("timestampFormat")));
    assertFalse(JsonObjects.canRead(withDefault, Set.of()));
    assertFalse(JsonObjects.canRead(COLUMNS, Set.of("singleVariantColumn")));
  }
}
