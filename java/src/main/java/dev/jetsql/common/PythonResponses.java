package dev.jetsql.common;

import com.fasterxml.jackson.databind.JsonNode;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.stream.IntStream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The responses of Python's functions (JSON, an error, or null), and the rows in them as rows of
 * Spark.
 */
public final class PythonResponses {
  private static final long MICROS_A_SECOND = 1_000_000L;

  private PythonResponses() {}

  /**
   * Returns the JSON of a response, or null for a null response. Throws the error that the response
   * is or contains.
   */
  public static JsonNode of(Object response) {
    return of(response, null);
  }

  /**
   * Does the same. An error without a position gets the one of a node in the statement, unless that
   * is null.
   */
  public static JsonNode of(Object response, Origin origin) {
    if (response == null) return null;
    if (response instanceof Throwable error) throw Exceptions.raise(error);
    var node = Json.read((String) response);
    StatementObjects.noteAll(node.get("objects"));
    if (node.has("error")) throw Exceptions.raise(JetSqlException.of(node.get("error"), origin));
    return node;
  }

  /** Returns the rows of a response {"rows": [[...]]}. */
  public static Seq<Row> rows(JsonNode response, StructType columns) {
    var indexes = IntStream.range(0, columns.length()).toArray();
    var rows = new ArrayList<Row>();
    response.get("rows").forEach(values -> rows.add(row(values, columns, indexes)));
    return CollectionConverters.asScala(rows).toSeq();
  }

  /**
   * Returns a row with these columns.
   *
   * @param indexes the index in the array of each column's value
   */
  public static Row row(JsonNode values, StructType columns, int[] indexes) {
    var row = new Object[indexes.length];
    for (var k = 0; k < indexes.length; k++)
      row[k] = value(values.get(indexes[k]), columns.apply(k).dataType());
    return RowFactory.create(row);
  }

  private static Object value(JsonNode node, DataType type) {
    if (node.isNull()) return null;
    return switch (type.typeName()) {
      case "long" -> node.asLong();
      case "integer" -> node.asInt();
      case "double" -> node.asDouble();
      case "boolean" -> node.asBoolean();
      case "timestamp" -> timestamp(node.asDouble());
      case "array" -> items(node, ((ArrayType) type).elementType());
      case "map" -> pairs(node, ((MapType) type).valueType());
      default -> node.asText();
    };
  }

  private static Seq<Object> items(JsonNode node, DataType type) {
    var items = new ArrayList<Object>();
    node.forEach(item -> items.add(value(item, type)));
    return CollectionConverters.asScala(items).toSeq();
  }

  private static scala.collection.mutable.Map<String, Object> pairs(JsonNode node, DataType type) {
    var pairs = new LinkedHashMap<String, Object>();
    node.properties().forEach(pair -> pairs.put(pair.getKey(), value(pair.getValue(), type)));
    return CollectionConverters.asScala(pairs);
  }

  private static Object timestamp(double seconds) {
    var stamp = timestampOf(seconds);
    return SQLConf.get().datetimeJava8ApiEnabled() ? stamp.toInstant() : stamp;
  }

  /**
   * Rounds to microseconds as Python does: clients that receive the value from Python must get the
   * same one.
   */
  static Timestamp timestampOf(double seconds) {
    var whole = Math.floor(seconds);
    var micros =
        ((long) whole) * MICROS_A_SECOND + (long) Math.rint((seconds - whole) * MICROS_A_SECOND);
    var stamp = new Timestamp(Math.floorDiv(micros, MICROS_A_SECOND) * 1000L);
    stamp.setNanos((int) Math.floorMod(micros, MICROS_A_SECOND) * 1000);
    return stamp;
  }
}
