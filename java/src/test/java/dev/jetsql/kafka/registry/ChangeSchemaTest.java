package dev.jetsql.kafka.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.apache.avro.Schema;
import org.junit.jupiter.api.Test;

class ChangeSchemaTest {
  private static Schema parse(String schema) {
    return new Schema.Parser().parse(schema.replace('\'', '"'));
  }

  /** Returns the schema of changes of a row with the field `at`. */
  private static Schema change(String type) {
    String row =
        "{'type': 'record', 'name': 'Value', 'fields': [{'name': 'at', 'type': TYPE}]}"
            .replace("TYPE", type);
    return ChangeSchema.of(parse(row));
  }

  private static String time(String name) {
    return "{'type': 'long', 'connect.name': 'io.debezium.time.NAME'}".replace("NAME", name);
  }

  private static String logicalType(Schema change) {
    Schema type = ChangeSchema.row(change).getField("at").schema();
    Schema time = type.isUnion() ? type.getTypes().get(type.getTypes().size() - 1) : type;
    return time.getLogicalType() == null ? null : time.getLogicalType().getName();
  }

  private static Schema target(String type, boolean isNumber) {
    return ChangeSchema.target(change(type), List.of("AT"), column -> isNumber);
  }

  @Test
  void givesDebeziumsTimesALogicalType() {
    assertEquals("local-timestamp-millis", logicalType(target(time("Timestamp"), false)));
    assertEquals("local-timestamp-micros", logicalType(target(time("MicroTimestamp"), false)));
    assertEquals("date", logicalType(target(time("Date").replace("'long'", "'int'"), false)));
    assertNull(logicalType(target(time("NanoTimestamp"), false)));
    assertNull(logicalType(target(time("Date"), false)));
    assertNull(logicalType(target(time("Timestamp"), true)));
    Schema writable = ChangeSchema.writable(change(time("Timestamp")), column -> false);
    assertEquals("local-timestamp-millis", logicalType(writable));
  }

  @Test
  void distinguishesMillisecondsFromMicroseconds() {
    Schema micros = target(time("MicroTimestamp"), false);
    assertNull(Resolution.mismatch(change(time("MicroTimestamp")), micros));
    assertNotNull(Resolution.mismatch(change(time("Timestamp")), micros));
    assertNotNull(Resolution.mismatch(change("'long'"), micros));
  }

  @Test
  void findsTheRowOfAChange() {
    assertEquals("Value", ChangeSchema.row(change("'long'")).getName());
    for (String other :
        List.of(
            "'long'",
            "{'type': 'record', 'name': 'a', 'fields': [{'name': 'after', 'type': 'int'}]}")) {
      assertThrows(IllegalArgumentException.class, () -> ChangeSchema.row(parse(other)));
    }
  }
}
