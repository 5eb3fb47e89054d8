package dev.jetsql.kafka.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.junit.jupiter.api.Test;

class ResolutionTest {
  private static Schema record(String name, String fields) {
    return new Schema.Parser()
        .parse(
            "{'type': 'record', 'name': 'NAME', 'fields': [FIELDS]}"
                .replace("NAME", name)
                .replace("FIELDS", fields)
                .replace('\'', '"'));
  }

  private static String field(String name, String type) {
    return "{'name': '" + name + "', 'type': " + type + "}";
  }

  @Test
  void keepsTheFieldsOfColumns() {
    Schema newest = record("a", field("ID", "'long'") + "," + field("more", "'long'"));
    Schema target = Resolution.target(newest, List.of("id"));
    assertEquals(1, target.getFields().size());
    assertTrue(target.getField("ID").hasDefaultValue());
  }

  @Test
  void resolvesAddedAndRemovedFields() {
    Schema newest = record("a", field("id", "'long'") + "," + field("text", "'string'"));
    Schema target = Resolution.target(newest, List.of("id", "text"));
    assertNull(Resolution.mismatch(newest, target));
    assertNull(Resolution.mismatch(record("b", field("id", "'int'")), target));
    assertNotNull(Resolution.mismatch(record("a", field("id", "'string'")), target));
    assertEquals(
        "it is not a record", Resolution.mismatch(Schema.create(Schema.Type.LONG), target));
  }

  @Test
  void refusesOtherLogicalTypes() {
    String type = "{'type': 'long', 'logicalType': 'timestamp-UNIT'}";
    Schema micros = record("a", field("at", type.replace("UNIT", "micros")));
    Schema millis = record("a", field("at", type.replace("UNIT", "millis")));
    assertNull(Resolution.mismatch(micros, Resolution.target(micros, List.of("at"))));
    assertEquals(
        "the field at has another logical type",
        Resolution.mismatch(millis, Resolution.target(micros, List.of("at"))));
    String nested = "{'type': 'array', 'items': ITEMS}";
    Schema list = record("a", field("x", nested.replace("ITEMS", type.replace("UNIT", "micros"))));
    Schema other = record("a", field("x", nested.replace("ITEMS", type.replace("UNIT", "millis"))));
    assertNotNull(Resolution.mismatch(other, Resolution.target(list, List.of("x"))));
  }

  @Test
  void writesNullableFieldsWithDefaults() {
    Schema schema = record("a", field("id", "['long', 'null']") + "," + field("n", "'int'"));
    Schema written = Resolution.withNullDefaults(schema);
    assertTrue(written.getField("id").hasDefaultValue());
    assertEquals(Schema.Type.NULL, written.getField("id").schema().getTypes().get(0).getType());
    assertFalse(written.getField("n").hasDefaultValue());
  }

  @Test
  void writesAndReadsTheHeader() {
    byte[] header = WireFormat.header(258);
    assertEquals(
        List.of(0, 0, 0, 1, 2),
        List.of(0 + header[0], 0 + header[1], 0 + header[2], 0 + header[3], 0 + header[4]));
    assertTrue(WireFormat.hasHeader(header));
    assertEquals(258, WireFormat.id(header));
    assertFalse(WireFormat.hasHeader(new byte[] {0, 1}));
    assertFalse(WireFormat.hasHeader(new byte[] {1, 0, 0, 0, 0}));
  }

  @Test
  void namesTheRegistryWithoutSecrets() {
    Map<String, String> options =
        Map.of(
            "avro.schema.registry.URL", "http://x:1/",
            "avro.schema.registry.basic.auth.user.info", "ann:pw");
    assertEquals(
        "The schema registry http://x:1",
        RegistryOptions.registry(options, new AvroSchemas()).toString());
    assertNull(RegistryOptions.registry(Map.of(), new AvroSchemas()));
    assertNull(RegistryOptions.registry(options, new JsonSchemas()));
  }
}
