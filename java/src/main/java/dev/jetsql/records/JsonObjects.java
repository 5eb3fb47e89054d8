package dev.jetsql.records;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.SerializedString;
import java.io.IOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;

/**
 * Reads JSON objects that fit their columns, without an object for each value. It leaves all others
 * to Spark's parser, which says what is read of them.
 *
 * <p>Both have the same tokens, from Jackson. The values of the types that most columns have are
 * read here, all others by Spark.
 */
final class JsonObjects {
  private static final int END = -1;
  private static final int UNKNOWN = -2;
  private static final Set<String> OF_WHOLE_OBJECTS =
      Set.of("singlevariantcolumn", "explodeembeddedarray");

  private final JsonFactory factory;
  private final SerializedString[] names;
  private final Map<String, Integer> indexes = new HashMap<>();
  private final Reader[] readers;
  private final SpecificInternalRow row;

  /** Reads the value at which a parser is. An exception means that it does not fit. */
  private interface Reader {
    void read(JsonParser at, SpecificInternalRow to, int index) throws IOException;
  }

  /**
   * @param columns the columns of the objects
   * @param rows the columns of the rows, which are those of the objects and further ones
   * @param spark Spark's parser of these columns
   */
  JsonObjects(StructType columns, StructType rows, JacksonParser spark) {
    this.factory = spark.options().buildJsonFactory();
    this.names = new SerializedString[columns.length()];
    this.readers = new Reader[columns.length()];
    this.row = new SpecificInternalRow(rows);
    for (int i = 0; i < names.length; i++) {
      StructField column = columns.apply(i);
      names[i] = new SerializedString(column.name());
      indexes.put(column.name(), i);
      readers[i] = reader(column.dataType(), spark);
    }
  }

  /** Returns whether each column is the field with its name, and NULL without one. */
  static boolean canRead(StructType columns, Set<String> options) {
    return options.stream()
            .noneMatch(each -> OF_WHOLE_OBJECTS.contains(each.toLowerCase(Locale.ROOT)))
        && !ResolveDefaultColumns$.MODULE$.hasExistenceDefaultValues(columns);
  }

  /**
   * Returns a text as a row, or null if it is not one object that fits the columns. The next call
   * returns the same row with other values.
   */
  InternalRow read(byte[] bytes) {
    try (JsonParser parser = factory.createParser(bytes)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) return null;
      for (int i = 0; i < names.length; i++) row.setNullAt(i);
      int expected = 0;
      for (int i = next(parser, expected); i != END; i = next(parser, expected)) {
        parser.nextToken();
        if (i == UNKNOWN) {
          parser.skipChildren();
        } else {
          readers[i].read(parser, row, i);
          expected = i + 1;
        }
      }
      return parser.nextToken() == null ? row : null;
    } catch (Exception e) { // Scala's methods declare no exceptions
      return null;
    }
  }

  /** Returns the index of the next name. Most messages have the order of the columns. */
  private int next(JsonParser parser, int expected) throws IOException {
    if (expected < names.length) {
      if (parser.nextFieldName(names[expected])) return expected;
    } else {
      parser.nextToken();
    }
    if (parser.currentToken() == JsonToken.END_OBJECT) return END;
    return indexes.getOrDefault(parser.currentName(), UNKNOWN);
  }

  private static Reader reader(DataType type, JacksonParser spark) {
    Function1<JsonParser, Object> converter = spark.makeConverter(type);
    Reader bySpark = (at, to, i) -> to.update(i, converter.apply(at));
    if (type.equals(DataTypes.StringType))
      return (at, to, i) -> {
        if (at.currentToken() == JsonToken.VALUE_STRING) to.update(i, text(at));
        else bySpark.read(at, to, i);
      };
    if (type.equals(DataTypes.LongType))
      return (at, to, i) -> {
        if (at.currentToken() == JsonToken.VALUE_NUMBER_INT) to.setLong(i, at.getLongValue());
        else bySpark.read(at, to, i);
      };
    if (type.equals(DataTypes.IntegerType))
      return (at, to, i) -> {
        if (at.currentToken() == JsonToken.VALUE_NUMBER_INT) to.setInt(i, at.getIntValue());
        else bySpark.read(at, to, i);
      };
    if (type.equals(DataTypes.DoubleType))
      return (at, to, i) -> {
        if (at.currentToken().isNumeric()) to.setDouble(i, at.getDoubleValue());
        else bySpark.read(at, to, i);
      };
    return bySpark;
  }

  /** Returns a text. Most are ASCII, whose characters are their bytes. */
  private static UTF8String text(JsonParser at) throws IOException {
    char[] characters = at.getTextCharacters();
    int begin = at.getTextOffset();
    var bytes = new byte[at.getTextLength()];
    for (int i = 0; i < bytes.length; i++) {
      char character = characters[begin + i];
      if (character >= 128) return UTF8String.fromString(at.getText());
      bytes[i] = (byte) character;
    }
    return UTF8String.fromBytes(bytes);
  }
}
