package dev.jetsql.common;

import dev.jetsql.kafka.KafkaRead;
import dev.jetsql.kafka.KafkaTables;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

public class PythonResponses {
  public static JsonNode of(Object answer) throws Exception {
    if (answer == null) return null;
    if (answer instanceof Throwable) throw Exceptions.raise((Throwable) answer);
    JsonNode node = Json.MAPPER.readTree((String) answer);
    if (node.has("error")) throw Exceptions.raise(JetSqlException.of((JsonNode) node.get("error")));
    return node;
  }

  public static Seq rows(JsonNode answer, StructType columns) {
    List rows = new ArrayList();
    JsonNode values = answer.get("rows");
    int[] places = new int[columns.length()];
    for (int k = 0; k < places.length; k++) places[k] = k;
    for (int i = 0; i < values.size(); i++) rows.add(row((JsonNode) values.get(i), columns, places));
    return CollectionConverters.asScala(rows).toSeq();
  }

  /** A row of these columns. places: where their values are in the array. */
  public static Row row(JsonNode values, StructType columns, int[] places) {
    Object[] row = new Object[places.length];
    for (int k = 0; k < places.length; k++) row[k] = value((JsonNode) values.get(places[k]), columns.apply(k).dataType());
    return RowFactory.create(row);
  }

  private static Object value(JsonNode node, DataType type) {
    if (node.isNull()) return null;
    String name = type.typeName();
    if (name.equals("long")) return Long.valueOf(node.asLong());
    if (name.equals("integer")) return Integer.valueOf(node.asInt());
    if (name.equals("double")) return Double.valueOf(node.asDouble());
    if (name.equals("boolean")) return Boolean.valueOf(node.asBoolean());
    if (name.equals("timestamp")) return timestamp(node.asDouble());
    if (name.equals("array")) return CollectionConverters.asScala(items(node, ((ArrayType) type).elementType())).toSeq();
    if (name.equals("map")) return CollectionConverters.asScala(pairs(node, ((MapType) type).valueType()));
    return node.asText();
  }

  private static List items(JsonNode node, DataType type) {
    List items = new ArrayList();
    for (int i = 0; i < node.size(); i++) items.add(value((JsonNode) node.get(i), type));
    return items;
  }

  private static Map pairs(JsonNode node, DataType type) {
    Map pairs = new LinkedHashMap();
    Iterator each = node.fields();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      pairs.put(entry.getKey(), value((JsonNode) entry.getValue(), type));
    }
    return pairs;
  }

  /** Rounded to microseconds as Python does it: whoever hands the same value out there must come to the same. */
  private static Object timestamp(double seconds) {
    double whole = Math.floor(seconds);
    long micros = (long) whole * 1000000L + (long) Math.rint((seconds - whole) * 1000000.0);
    java.sql.Timestamp stamp = new java.sql.Timestamp(Math.floorDiv(micros, 1000000L) * 1000L);
    stamp.setNanos((int) Math.floorMod(micros, 1000000L) * 1000);
    boolean instants = org.apache.spark.sql.internal.SQLConf.get().datetimeJava8ApiEnabled();
    return instants ? (Object) stamp.toInstant() : stamp;
  }
}
