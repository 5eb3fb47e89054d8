package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class AvroFormatTest {
  @Test
  void readsTheFieldsOfARecord() {
    String schema =
        """
        {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}, {"name": "s", "type": "string"}]}\
        """;
    StructType fields =
        new StructType().add("id", DataTypes.LongType, false).add("s", DataTypes.StringType, false);
    assertEquals(fields, AvroFormat.fields(schema));
  }

  @Test
  void refusesWhatIsNoRecord() {
    var error = assertThrows(IllegalArgumentException.class, () -> AvroFormat.fields("\"long\""));
    assertEquals("it is not a record", error.getMessage());
    assertThrows(Exception.class, () -> AvroFormat.fields("{"));
  }
}
