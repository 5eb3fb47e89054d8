package dev.jetsql.records;

import static org.apache.spark.sql.functions.coalesce;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Sequences;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.FailureSafeParser;
import org.apache.spark.sql.catalyst.util.PermissiveMode$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Parses JSON texts with Spark's parser, as a table USING json does: a text is one object, and a
 * number or an object in a STRING column keeps its characters. Spark's `from_json` has neither.
 * Executors receive a copy with each task.
 */
public final class JsonRecords implements Serializable {
  /** The field of a row that has the text if it does not fit the columns. */
  public static final String BROKEN = "__jetsql_broken";

  private static final long serialVersionUID = 1L;

  private final StructType schema;
  private final HashMap<String, String> options;
  private final String zone;
  private final boolean arrays;
  private transient FailureSafeParser<byte[]> parser;
  private transient JsonObjects objects;

  /**
   * @param columns the columns of the rows; `BROKEN` is added to them
   * @param options the options of Spark's JSON source
   * @param zone the time zone of the session
   */
  public JsonRecords(StructType columns, Map<String, String> options, String zone) {
    this(columns, options, zone, false);
  }

  /** Creates a parser. arrays: whether a text can also be an array of objects */
  JsonRecords(StructType columns, Map<String, String> options, String zone, boolean arrays) {
    this.arrays = arrays;
    this.schema = columns.asNullable().add(BROKEN, DataTypes.StringType);
    this.options = new HashMap<>(options);
    this.zone = zone;
  }

  /** Returns texts as structs of the columns and `BROKEN`; NULL for NULL or an empty text. */
  public Column parse(Column bytes) {
    return RecordFunctions.call(this, "row", schema, bytes);
  }

  /** Returns why a text is not one JSON object, without a full stop, or NULL if it is one. */
  public Column syntaxError(Column bytes) {
    return RecordFunctions.call(this, "problem", DataTypes.StringType, bytes);
  }

  /** Returns why a text does not fit the columns, without a full stop. */
  public Column reason(Column bytes) {
    return coalesce(
        syntaxError(bytes), RecordFunctions.call(this, "misfits", DataTypes.StringType, bytes));
  }

  /** Returns a text as a row. The generated code calls it. */
  public InternalRow row(byte[] bytes) {
    if (parser == null) open();
    var fitting = objects == null ? null : objects.read(bytes);
    return fitting == null ? rowBySpark(bytes) : fitting;
  }

  /** Returns a text as a row; `row` reads most of those that fit in another way. */
  InternalRow rowBySpark(byte[] bytes) {
    if (parser == null) open();
    var rows = parser.parse(bytes);
    return rows.hasNext() ? rows.next() : null;
  }

  private void open() {
    var columns = new StructType();
    for (var field : schema.fields())
      if (!field.name().equals(BROKEN)) columns = columns.add(field);
    var raw = new JacksonParser(columns, jsonOptions(), arrays, Sequences.of());
    parser =
        new FailureSafeParser<>(
            bytes -> raw.parse(bytes, JsonRecords::open, UTF8String::fromBytes),
            PermissiveMode$.MODULE$,
            schema,
            BROKEN);
    if (JsonObjects.canRead(columns, options.keySet()))
      objects = new JsonObjects(columns, schema, raw);
  }

  private static JsonParser open(JsonFactory factory, byte[] bytes) {
    try {
      return new WholeJson(factory.createParser(bytes));
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  private JSONOptions jsonOptions() {
    return new JSONOptions(Map$.MODULE$.from(CollectionConverters.asScala(options)), zone, BROKEN);
  }

  /** Returns why a text is not one JSON object. The generated code calls it. */
  public UTF8String problem(byte[] bytes) {
    String problem = null;
    try (JsonParser read = jsonOptions().buildJsonFactory().createParser(bytes)) {
      var first = read.nextToken();
      boolean isObject =
          first == JsonToken.START_OBJECT || (arrays && first == JsonToken.START_ARRAY);
      problem = "it is not valid JSON";
      if (!isObject && first != null) problem = "it is not a JSON object";
      if (isObject) {
        skipObject(read);
        problem = "it has text after its JSON object";
        if (read.nextToken() == null) problem = null;
      }
    } catch (IOException e) {
      if (problem == null) problem = "it is not valid JSON";
    }
    return UTF8String.fromString(problem);
  }

  /** Returns which columns have another type in a JSON object. The generated code calls it. */
  public UTF8String misfits(byte[] bytes) {
    var misfits = new StringJoiner(", ");
    for (var column : schema.fields()) {
      if (column.name().equals(BROKEN)) continue;
      var row = new JsonRecords(new StructType().add(column), options, zone, arrays).row(bytes);
      if (row == null || !row.isNullAt(1))
        misfits.add(column.name() + " is not of type " + column.dataType().sql());
    }
    return UTF8String.fromString(misfits.toString());
  }

  /** Reads an object with its texts, whose characters Jackson would skip otherwise. */
  private static void skipObject(JsonParser read) throws IOException {
    for (int depth = 1; depth > 0; ) {
      JsonToken token = read.nextToken();
      if (token == null) throw new IOException("The object does not end.");
      if (token.isStructStart()) depth++;
      if (token.isStructEnd()) depth--;
      if (token.isScalarValue()) read.getText();
    }
  }
}
