package dev.jetsql.records;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import dev.jetsql.common.Exceptions;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.catalyst.util.DateFormatter;
import org.apache.spark.sql.catalyst.util.DateFormatter$;
import org.apache.spark.sql.catalyst.util.LegacyDateFormats;
import org.apache.spark.sql.catalyst.util.TimestampFormatter;
import org.apache.spark.sql.catalyst.util.TimestampFormatter$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Writes structs as JSON in UTF-8, with the characters of Spark's `to_json`. Executors receive a
 * copy with each task.
 *
 * <p>Spark's generator writes any struct. Without the struct and an object for each value, the
 * generated code writes the fields of most: `begin`, one call for each field, `end`.
 */
public final class JsonTexts implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final Set<String> OPTIONS =
      Set.of(
          "dateformat",
          "ignorenullfields",
          "locale",
          "timestampformat",
          "timestampntzformat",
          "timezone");
  private static final Map<DataType, String> METHODS =
      Map.ofEntries(
          Map.entry(DataTypes.BooleanType, "addBoolean"),
          Map.entry(DataTypes.ByteType, "addInteger"),
          Map.entry(DataTypes.ShortType, "addInteger"),
          Map.entry(DataTypes.IntegerType, "addInteger"),
          Map.entry(DataTypes.LongType, "addInteger"),
          Map.entry(DataTypes.FloatType, "addFloat"),
          Map.entry(DataTypes.DoubleType, "addDouble"),
          Map.entry(DataTypes.StringType, "addString"),
          Map.entry(DataTypes.DateType, "addDate"),
          Map.entry(DataTypes.TimestampType, "addTimestamp"));

  private final StructType type;
  private final HashMap<String, String> options;
  private final String zone;
  private transient JacksonGenerator structs;
  private transient OutputStreamWriter characters;
  private transient JsonGenerator fields;
  private transient ByteArrayOutputStream bytes;
  private transient SerializedString[] names;
  private transient boolean hasNulls;
  private transient TimestampFormatter timestamps;
  private transient DateFormatter dates;

  /**
   * @param type the type of the structs
   * @param options the options of `to_json`
   * @param zone the time zone of the session
   */
  JsonTexts(StructType type, Map<String, String> options, String zone) {
    this.type = type;
    this.options = new HashMap<>(options);
    this.zone = zone;
  }

  /** Returns whether the fields of the structs can be written by the calls for each field. */
  boolean hasMethods() {
    for (StructField field : type.fields()) {
      // A setting of Spark decides whether NULL is written instead of a DEFAULT.
      if (method(field.dataType()) == null || field.getExistenceDefaultValue().isDefined())
        return false;
    }
    return options.keySet().stream()
        .map(each -> each.toLowerCase(Locale.ROOT))
        .allMatch(OPTIONS::contains);
  }

  /** Returns the method that adds a value, which is not NULL, or null if there is none. */
  static String method(DataType type) {
    return type instanceof DecimalType ? "addDecimal" : METHODS.get(type);
  }

  /** Returns a struct as text. The generated code calls this and the following methods. */
  public byte[] text(InternalRow row) {
    if (structs == null) {
      bytes = new ByteArrayOutputStream();
      characters = new OutputStreamWriter(bytes, StandardCharsets.UTF_8);
      structs = new JacksonGenerator(type, characters, jsonOptions());
    }
    structs.write(row);
    structs.flush();
    return written();
  }

  private byte[] written() {
    byte[] text = bytes.toByteArray();
    bytes.reset();
    return text;
  }

  private JSONOptions jsonOptions() {
    return new JSONOptions(Map$.MODULE$.from(CollectionConverters.asScala(options)), zone, "");
  }

  public void begin() {
    try {
      if (fields == null) open();
      fields.writeStartObject();
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  private void open() throws IOException {
    var spark = jsonOptions();
    bytes = new ByteArrayOutputStream();
    fields = new JsonFactory().createGenerator(bytes).setRootValueSeparator(null);
    names = new SerializedString[type.length()];
    for (int i = 0; i < names.length; i++) names[i] = new SerializedString(type.apply(i).name());
    hasNulls = !spark.ignoreNullFields();
    var legacy = LegacyDateFormats.FAST_DATE_FORMAT();
    timestamps =
        TimestampFormatter$.MODULE$.apply(
            spark.timestampFormatInWrite(), spark.zoneId(), spark.locale(), legacy, false);
    dates = DateFormatter$.MODULE$.apply(spark.dateFormatInWrite(), spark.locale(), legacy, false);
  }

  public void addNull(int field) {
    if (!hasNulls) return;
    try {
      fields.writeFieldName(names[field]);
      fields.writeNull();
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  public void addBoolean(int field, boolean value) {
    try {
      fields.writeFieldName(names[field]);
      fields.writeBoolean(value);
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  public void addInteger(int field, long value) {
    try {
      fields.writeFieldName(names[field]);
      fields.writeNumber(value);
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  public void addFloat(int field, float value) {
    try {
      fields.writeFieldName(names[field]);
      fields.writeNumber(value);
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  public void addDouble(int field, double value) {
    try {
      fields.writeFieldName(names[field]);
      fields.writeNumber(value);
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  public void addDecimal(int field, Decimal value) {
    try {
      fields.writeFieldName(names[field]);
      fields.writeNumber(value.toJavaBigDecimal());
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  public void addDate(int field, int days) {
    addText(field, dates.format(days));
  }

  public void addTimestamp(int field, long micros) {
    addText(field, timestamps.format(micros));
  }

  private void addText(int field, String text) {
    try {
      fields.writeFieldName(names[field]);
      fields.writeString(text);
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Adds a string. Bytes that are not UTF-8 become the characters of Java's replacement. */
  public void addString(int field, UTF8String value) {
    if (!value.isValid() || !(value.getBaseObject() instanceof byte[] base)) {
      addText(field, value.toString());
      return;
    }
    int begin = (int) (value.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
    try {
      fields.writeFieldName(names[field]);
      fields.writeUTF8String(base, begin, value.numBytes());
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  public byte[] end() {
    try {
      fields.writeEndObject();
      fields.flush();
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
    return written();
  }
}
