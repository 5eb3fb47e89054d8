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

/** Our errors as Spark's clients know errors: condition, SQLSTATE, line and position. */
public class JetSqlException extends AnalysisException {
  JetSqlException(String message, Option line, Option position, String condition, String state) {
    super(message, line, position, Option.empty(), Option.apply(condition),
        (scala.collection.immutable.Map) Map$.MODULE$.empty(), new QueryContext[0], Option.apply(state),
        Option.empty());
  }

  /** What the Thrift server makes its message of: without the name of this class. */
  public String toString() { return getMessage(); }

  public static JetSqlException closed() { return of("ENGINE_NOT_STARTED", "58000", "The engine was closed."); }

  public static JetSqlException of(String condition, String state, String message) {
    return at(Option.empty(), Option.empty(), condition, state, message);
  }

  /** At the place of a node in the statement. */
  public static JetSqlException at(Origin place, String condition, String state, String message) {
    return at(place.line(), place.startPosition(), condition, state, message);
  }

  private static JetSqlException at(Option line, Option position, String condition, String state, String message) {
    String name = "JETSQL." + condition;
    return new JetSqlException("[" + name + "] " + message + " SQLSTATE: " + state, line, position, name, state);
  }

  public static JetSqlException of(JsonNode error) {
    Option line = error.hasNonNull("line") ? Option.apply((Object) Integer.valueOf(error.get("line").asInt())) : Option.empty();
    Option position = error.hasNonNull("position")
        ? Option.apply((Object) Integer.valueOf(error.get("position").asInt())) : Option.empty();
    return new JetSqlException(error.get("message").asText(), line, position, error.get("condition").asText(),
        error.get("sqlstate").asText());
  }
}
