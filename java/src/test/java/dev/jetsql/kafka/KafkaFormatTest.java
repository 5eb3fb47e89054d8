package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class KafkaFormatTest {
  private static final DataType NUMBERS = DataTypes.createArrayType(DataTypes.LongType);
  private static final DataType BY_NUMBER =
      DataTypes.createMapType(DataTypes.LongType, DataTypes.StringType);
  private static final DataType BY_NAME = DataTypes.createMapType(DataTypes.StringType, NUMBERS);

  @Test
  void castsAtomicTypesToText() {
    assertTrue(KafkaFormat.isText(DataTypes.BinaryType));
    assertTrue(KafkaFormat.isText(DataTypes.TimestampType));
    assertFalse(KafkaFormat.isText(NUMBERS));
    assertFalse(KafkaFormat.isText(DataTypes.createDayTimeIntervalType()));
  }

  @Test
  void rawCarriesTextOnly() {
    assertNull(KafkaFormat.whyUnsupported("RAW", DataTypes.BinaryType));
    assertEquals("cannot be cast to text", KafkaFormat.whyUnsupported("raw", NUMBERS));
  }

  @Test
  void csvCarriesNoBytes() {
    assertNull(KafkaFormat.whyUnsupported("csv", DataTypes.DateType));
    assertEquals(
        "cannot be written as csv", KafkaFormat.whyUnsupported("csv", DataTypes.BinaryType));
  }

  @Test
  void jsonCarriesMapsWithTextKeysAtAnyDepth() {
    String why = "has a MAP whose keys are not STRING";
    assertNull(KafkaFormat.whyUnsupported("json", BY_NAME));
    assertEquals(why, KafkaFormat.whyUnsupported("json", BY_NUMBER));
    StructType nested =
        new StructType()
            .add("a", DataTypes.LongType)
            .add("b", DataTypes.createArrayType(BY_NUMBER));
    assertEquals(why, KafkaFormat.whyUnsupported("Json", nested));
    assertNull(KafkaFormat.whyUnsupported("avro", nested));
  }

  @Test
  void spellsNamesAsTheFieldsDo() {
    StructType fields = new StructType().add("Id", DataTypes.LongType);
    assertEquals("Id", KafkaFormat.fieldName(fields, "ID"));
    assertNull(KafkaFormat.fieldName(fields, "name"));
  }

  @Test
  void encodesRawTextAsItsBytes() {
    KafkaFormat raw =
        new KafkaFormat("raw", new StructType().add("a", DataTypes.LongType), Map.of(), "UTC");
    Column expected = col("a").cast(DataTypes.StringType).cast(DataTypes.BinaryType);
    assertEquals(expected, raw.encode(new Column[] {col("a")}, "UTC"));
  }

  @Test
  void passesBytesThroughRaw() {
    KafkaFormat raw =
        new KafkaFormat("raw", new StructType().add("a", DataTypes.BinaryType), Map.of(), "UTC");
    assertEquals(col("a"), raw.encode(new Column[] {col("a")}, "UTC"));
  }
}
