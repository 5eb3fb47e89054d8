package dev.jetsql.records;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Random messages of JSON: most are odd or broken, the others fit their columns. */
final class OddMessages {
  /** The number of messages of a test; a property, because a million take minutes. */
  static final int COUNT = Integer.getInteger("jetsql.odd.messages", 20_000);

  private static final List<DataType> TYPES =
      List.of(
          DataTypes.StringType,
          DataTypes.LongType,
          DataTypes.IntegerType,
          DataTypes.DoubleType,
          DataTypes.BooleanType,
          DataTypes.ShortType,
          DataTypes.ByteType,
          DataTypes.FloatType,
          DataTypes.DateType,
          DataTypes.TimestampType,
          DataTypes.TimestampNTZType,
          DataTypes.BinaryType,
          DataTypes.createDecimalType(10, 2),
          DataTypes.createArrayType(DataTypes.LongType),
          DataTypes.createMapType(DataTypes.StringType, DataTypes.DoubleType),
          new StructType().add("a", DataTypes.StringType).add("b", DataTypes.IntegerType),
          DataTypes.VariantType);
  private static final String[] SCALARS = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "7",
    "-12",
    "300",
    "40000",
    "2147483648",
    "01",
    "+1",
    "9223372036854775807",
    "9223372036854775808",
    "1.5",
    "1.10",
    "-0.0",
    "1e3",
    "1E400",
    "0.1e-400",
    "123456789012345678901234567890.12",
    "NaN",
    "Infinity",
    "-INF",
    "\"NaN\"",
    "\"Infinity\"",
    "\"-INF\"",
    "\"\"",
    "\"1\"",
    "\"1.5\"",
    "\"true\"",
    "\"2024-02-29\"",
    "\"2024-02-30\"",
    "\"2024-02-29T12:34:56.789Z\"",
    "\"2024-02-29 12:34:56\"",
    "\"2024-02-29T12:34:56.123456+01:00\"",
    "\"a\"",
    "\"customer-north-0001\"",
    "\"tab\\t quote\\\" slash\\/ \\u00e9 \\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"grün 😀\"",
    "\"line\nfeed\"",
    "\"\\x\"",
    "'single'",
    "\"YWJj\"",
    "\"Y?\"",
    "x",
    "tru"
  };
  private static final String[] NESTED = {
    "[]",
    "[1,2]",
    "[1,\"x\"]",
    "[1.50, {\"a\": [] }]",
    "[null]",
    "{}",
    "{\"a\":\"s\",\"b\":2}",
    "{\"a\":1.0,\"b\":\"x\"}",
    "{\"b\":{}}",
    "{\"x\":1.5,\"y\":2}",
    "{\"x\":1,\"x\":2}",
    "{\"a\":",
    "[[[[[[[[]]]]]]]]",
    "{\"k\":null}",
    "[",
    "}"
  };
  private static final String[] TRAILING = {
    " ", "\n", "x", "{}", "1", "]", "}", ",", "\0", " /* */"
  };
  private static final String[] NAMES = {"other", "C0", "", "c\\u0030", "grün", "c0 "};

  private final Random random;

  OddMessages(Random random) {
    this.random = random;
  }

  /** Returns the columns `c0`, `c1` and so on, of random types. */
  StructType columns() {
    var columns = new StructType();
    for (int n = 1 + random.nextInt(5); n > 0; n--)
      columns = columns.add("c" + columns.length(), one(TYPES));
    return columns;
  }

  private <T> T one(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private String one(String[] of) {
    return one(Arrays.asList(of));
  }

  /** Returns a message for columns. */
  byte[] message(StructType columns) {
    List<String> fields = new ArrayList<>();
    for (var column : columns.fields()) {
      if (random.nextInt(8) == 0) continue;
      String value = random.nextInt(4) == 0 ? odd() : fitting(column.dataType());
      fields.add(field(column.name(), value));
    }
    if (random.nextInt(4) == 0) fields.add(field(one(NAMES), odd()));
    if (random.nextInt(8) == 0) fields.add(field("c0", odd()));
    if (random.nextInt(4) == 0) Collections.shuffle(fields, random);
    String text = space() + "{" + space() + String.join(space() + ",", fields) + "}";
    if (random.nextInt(10) == 0) text += one(TRAILING);
    if (random.nextInt(40) == 0) text = "[" + text + "]";
    if (random.nextInt(60) == 0) text = one(random.nextBoolean() ? SCALARS : TRAILING);
    if (random.nextInt(60) == 0) text = "";
    if (random.nextInt(60) == 0) text = deep(text);
    byte[] bytes = text.getBytes(random.nextInt(80) == 0 ? StandardCharsets.UTF_16BE : UTF_8);
    return random.nextInt(6) == 0 ? damaged(bytes) : bytes;
  }

  private String space() {
    return random.nextInt(4) == 0 ? " \n" : "";
  }

  private String field(String name, String value) {
    return space() + "\"" + name + "\"" + space() + ":" + space() + value;
  }

  private String odd() {
    return one(random.nextInt(3) == 0 ? NESTED : SCALARS);
  }

  private String fitting(DataType type) {
    int number = random.nextInt(100);
    if (type instanceof StructType) return "{\"b\":" + number + ",\"a\":\"s\"}";
    return switch (type.typeName()) {
      case "string" -> "\"customer-" + number + (number < 20 ? "é" : "") + "\"";
      case "boolean" -> number < 50 ? "true" : "false";
      case "double", "float" -> number + (number < 50 ? "." + number : "e1");
      case "date" -> "\"2024-01-%02d\"".formatted(1 + number % 31);
      case "timestamp", "timestamp_ntz" -> "\"2024-01-01T00:00:%02d\"".formatted(number % 60);
      case "binary" -> "\"AAEC\"";
      case "array" -> "[" + number + ", 2]";
      case "map" -> "{\"k\": " + number + ".5}";
      default -> String.valueOf(number);
    };
  }

  private String deep(String text) {
    int depth = random.nextBoolean() ? 400 : 1100;
    return "{\"other\":" + "[".repeat(depth) + "]".repeat(depth) + ",\"c0\":" + text + "}";
  }

  private byte[] damaged(byte[] bytes) {
    if (bytes.length == 0) return bytes;
    int at = random.nextInt(bytes.length);
    if (random.nextInt(3) == 0) return Arrays.copyOf(bytes, at);
    byte[] changed = bytes.clone();
    changed[at] =
        (byte)
            (random.nextBoolean()
                ? random.nextInt(256)
                : "\"\\{}[],:\0 0".charAt(random.nextInt(11)));
    return changed;
  }
}
