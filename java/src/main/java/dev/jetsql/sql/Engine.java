package dev.jetsql.sql;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import dev.jetsql.common.Sequences;
import dev.jetsql.kafka.KafkaTopicChecks;
import dev.jetsql.stream.ClusterExecutors;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The engine (Python) that is open in this JVM: the functions of it that execute the statements of
 * JetSQL.
 *
 * <p>Parsing has no side effect. The plan of one of our statements is a command, which Spark runs
 * exactly once, whichever client sent it.
 */
public final class Engine {
  private static volatile Functions functions;

  private Engine() {}

  /**
   * The functions of (session, text). An error is {"error": {message, condition, sqlstate, line,
   * position}}, or the Throwable itself when it came from Spark.
   *
   * @param filter spares Spark's own statements the call of `describe`
   * @param describe null for a statement that is not ours, otherwise {"columns": DDL}, or an error
   * @param execute {"columns": DDL, "rows": [[...]]}, or an error; it can be cancelled, see
   *     `PythonCalls`
   */
  private record Functions(
      StatementFilter filter,
      BiFunction<Object, String, Object> describe,
      BiFunction<Object, String, Object> execute) {}

  /**
   * Connect the engine's functions.
   *
   * @param filter the regular expression that every statement of ours begins with
   * @param cancel see `PythonCalls`
   * @param rows see `LiveTables`
   * @param topic see `KafkaTopicChecks`
   */
  public static void connect(
      String filter,
      BiFunction<Object, String, Object> describe,
      BiFunction<Object, String, Object> execute,
      Consumer<String> cancel,
      BiFunction<Object, String, Object> rows,
      BiFunction<Object, String, Object> topic) {
    functions = new Functions(new StatementFilter(filter), describe, execute);
    PythonCalls.connect(cancel);
    LiveTables.connect(rows);
    KafkaTopicChecks.connect(topic);
  }

  /** Leave all statements to Spark. */
  public static void disconnect() {
    functions = null;
    PythonCalls.connect(null);
    LiveTables.connect(null);
    KafkaTopicChecks.connect(null);
    ClusterExecutors.unwatch();
  }

  /** Return the command for a statement of ours; null for every other one. */
  static LogicalPlan command(Object session, String text) {
    var engine = functions;
    if (engine == null || !engine.filter.matches(text)) return null;
    var response = PythonResponses.of(PythonCalls.ask(engine.describe, session, text));
    return response == null ? null : command(text, response);
  }

  private static LogicalPlan command(String text, JsonNode response) {
    var columns = StructType.fromDDL(response.get("columns").asText());
    return new StatementCommand(
        text,
        Sequences.of(
            List.<Attribute>copyOf(
                CollectionConverters.asJava(DataTypeUtils.toAttributes(columns)))),
        columns);
  }

  /** Execute a statement of ours and return its rows. */
  static Seq<Row> execute(SparkSession session, String text, StructType columns) {
    var engine = functions;
    if (engine == null) throw Exceptions.raise(JetSqlException.closed());
    var response = PythonResponses.of(PythonCalls.run(engine.execute, session, text));
    return PythonResponses.rows(response, columns);
  }
}
