package dev.jetsql.records;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.Sequences;
import java.io.CharArrayWriter;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

class JsonTextTest {
  private static final String ZONE = "Europe/Berlin";
  private static final StructType FLAT =
      new StructType()
          .add("t", DataTypes.BooleanType)
          .add("b", DataTypes.ByteType)
          .add("s", DataTypes.ShortType)
          .add("i", DataTypes.IntegerType)
          .add("l", DataTypes.LongType)
          .add("f", DataTypes.FloatType)
          .add("d", DataTypes.DoubleType)
          .add("é \"quoted\"", DataTypes.StringType)
          .add("n", DataTypes.createDecimalType(20, 3))
          .add("day", DataTypes.DateType)
          .add("at", DataTypes.TimestampType);
  private static final StructType NESTED =
      new StructType().add("row", FLAT).add("l", DataTypes.createArrayType(DataTypes.LongType));
  private static final List<Map<String, String>> OPTIONS =
      List.of(
          Map.of(),
          Map.of("ignoreNullFields", "false"),
          Map.of("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone", "UTC"),
          Map.of("dateFormat", "dd.MM.yyyy", "locale", "de-DE"),
          Map.of("writeNonAsciiCharacterAsCodePoint", "true"));
  private static final String[] TEXTS = {
    "",
    "customer-north-0001",
    "tab\t quote\" back\\slash / \u0000 \u001f \u007f",
    "grün 😀 \u2028",
    "x".repeat(10_000) + "é"
  };
  private static final double[] NUMBERS = {
    0.0, -0.0, 1.5, 1e300, 4.9e-324, Double.NaN, Double.POSITIVE_INFINITY, 1234567.125
  };

  private final Random random = new Random(50);

  private Object[] values() {
    Object[] values = {
      random.nextBoolean(),
      (byte) random.nextInt(),
      (short) random.nextInt(),
      random.nextInt(),
      random.nextLong() >> random.nextInt(64),
      (float) number(),
      number(),
      text(),
      Decimal.apply(BigDecimal.valueOf(random.nextInt(), random.nextInt(4)), 20, 3),
      random.nextInt(200_000) - 100_000,
      random.nextLong() >> 8
    };
    for (int i = 0; i < values.length; i++) if (random.nextInt(6) == 0) values[i] = null;
    return values;
  }

  private double number() {
    return random.nextBoolean() ? NUMBERS[random.nextInt(NUMBERS.length)] : random.nextGaussian();
  }

  private UTF8String text() {
    if (random.nextInt(4) > 0) return UTF8String.fromString(TEXTS[random.nextInt(TEXTS.length)]);
    byte[] any = new byte[random.nextInt(6)];
    random.nextBytes(any);
    return UTF8String.fromBytes(any);
  }

  /** Returns the bytes that a cast of `to_json` returns. */
  private static byte[] bySpark(InternalRow row, StructType type, Map<String, String> options) {
    var characters = new CharArrayWriter();
    var all = Map$.MODULE$.<String, String>from(CollectionConverters.asScala(options));
    var generator = new JacksonGenerator(type, characters, new JSONOptions(all, ZONE, ""));
    generator.write(row);
    generator.flush();
    return UTF8String.fromString(characters.toString()).getBytes();
  }

  private static JsonText textOf(StructType type, Map<String, String> options) {
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < type.length(); i++) {
      parts.add(Literal$.MODULE$.apply(type.apply(i).name()));
      parts.add(new BoundReference(i, type.apply(i).dataType(), true));
    }
    return new JsonText(new CreateNamedStruct(Sequences.of(parts)), options, ZONE);
  }

  @Test
  void rowsAreWrittenAsBySpark() {
    for (var options : OPTIONS) {
      var text = textOf(FLAT, options);
      var generated = UnsafeProjection.create(Sequences.<Expression>of(text));
      for (int i = 0; i < 1000; i++) {
        var row = new GenericInternalRow(values());
        byte[] expected = bySpark(row, FLAT, options);
        String shown = new String(expected, UTF_8);
        assertArrayEquals(expected, generated.apply(row).getBinary(0), shown);
        assertArrayEquals(expected, (byte[]) text.eval(row), shown);
      }
    }
  }

  @Test
  void nestedRowsAreWrittenAsBySpark() {
    var generated = UnsafeProjection.create(Sequences.<Expression>of(textOf(NESTED, Map.of())));
    for (int i = 0; i < 100; i++) {
      var row = new GenericInternalRow(new Object[] {new GenericInternalRow(values()), null});
      assertArrayEquals(bySpark(row, NESTED, Map.of()), generated.apply(row).getBinary(0));
    }
  }

  @Test
  void manyColumnsAreWritten() {
    var type = new StructType();
    for (int i = 0; i < 3000; i++) type = type.add("column" + i, DataTypes.LongType);
    var values = new Object[type.length()];
    for (int i = 0; i < values.length; i += 2) values[i] = (long) i;
    var row = new GenericInternalRow(values);
    var generated = UnsafeProjection.create(Sequences.<Expression>of(textOf(type, Map.of())));
    assertArrayEquals(bySpark(row, type, Map.of()), generated.apply(row).getBinary(0));
  }

  @Test
  void aNullStructHasNoText() {
    var text = new JsonText(new BoundReference(0, FLAT, true), Map.of(), ZONE);
    var row = new GenericInternalRow(new Object[] {null});
    assertNull(text.eval(row));
    assertTrue(UnsafeProjection.create(Sequences.<Expression>of(text)).apply(row).isNullAt(0));
  }

  @Test
  void sparkWritesOtherTypesOptionsAndDefaults() {
    var asDefault = new MetadataBuilder().putString("EXISTS_DEFAULT", "7").build();
    var withDefault = FLAT.add("x", DataTypes.IntegerType, true, asDefault);
    assertTrue(new JsonTexts(FLAT, Map.of("IgnoreNullFields", "false"), ZONE).hasMethods());
    assertFalse(new JsonTexts(NESTED, Map.of(), ZONE).hasMethods());
    assertFalse(new JsonTexts(FLAT, Map.of("pretty", "true"), ZONE).hasMethods());
    assertFalse(new JsonTexts(withDefault, Map.of(), ZONE).hasMethods());
    assertEquals("json_text", textOf(FLAT, Map.of()).prettyName());
  }
}
