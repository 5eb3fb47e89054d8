package dev.jetsql.parser;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import dev.jetsql.common.Sequences;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The open engine (Python) of this JVM, which executes the statements of JetSQL.
 *
 * <p>Parsing has no side effects. The plan of a JetSQL statement is a command, which Spark runs
 * exactly once for every client.
 */
public final class EngineStatements {
  private static volatile Functions functions;

  private EngineStatements() {}

  /**
   * The engine's functions of (session, text). An error is {"error": {message, condition, sqlstate,
   * line, position}}, or the Throwable itself when Spark raised it.
   *
   * @param filter the filter that saves Spark's own statements the call of `describe`
   * @param describe returns null for a statement of Spark, otherwise {"columns": DDL} or an error
   * @param execute returns {"columns": DDL, "rows": [[...]]} or an error; it can be cancelled, see
   *     `PythonCalls`
   * @param bind returns null for a statement of Spark, otherwise {"text": the statement with
   *     values} or an error; its text is {"text": ..., "values": ...}, or {"text": ..., "number":
   *     of values by position} to only check a statement of Spark
   */
  private record Functions(
      StatementFilter filter,
      BiFunction<Object, String, Object> describe,
      BiFunction<Object, String, Object> execute,
      BiFunction<Object, String, Object> bind) {}

  /**
   * Connects the engine's functions, see `Functions`.
   *
   * @param filter a regular expression that matches the beginning of every JetSQL statement
   */
  public static void connect(
      String filter,
      BiFunction<Object, String, Object> describe,
      BiFunction<Object, String, Object> execute,
      BiFunction<Object, String, Object> bind) {
    functions = new Functions(new StatementFilter(filter), describe, execute, bind);
  }

  /** Disconnects the engine: Spark handles all statements from now on. */
  public static void disconnect() {
    functions = null;
  }

  /** Returns whether an engine is open. */
  public static boolean isConnected() {
    return functions != null;
  }

  /** Returns the command for a JetSQL statement, or null for any other statement. */
  public static LogicalPlan command(Object session, String text) {
    var connected = functions;
    if (connected == null || !connected.filter.matches(text)) return null;
    var response = PythonResponses.of(PythonCalls.ask(connected.describe, session, text));
    return response == null ? null : command(text, response);
  }

  /**
   * Returns the command for a JetSQL statement with parameter markers, or null for any other
   * statement.
   *
   * @param values returns the texts of literals, by name or by position
   */
  static LogicalPlan command(Object session, String text, Supplier<Object> values) {
    var connected = functions;
    if (connected == null || !connected.filter.matches(text)) return null;
    var request = Json.write(Map.of("text", text, "values", values.get()));
    var response = PythonResponses.of(PythonCalls.ask(connected.bind, session, request));
    return response == null ? null : command(session, response.get("text").asText());
  }

  /**
   * Refuses values by position that are more or fewer than the markers; Spark ignores further ones.
   */
  static void checkNumber(Object session, String text, int values) {
    var connected = functions;
    if (connected == null) return;
    var request = Json.write(Map.of("text", text, "number", values));
    PythonResponses.of(PythonCalls.ask(connected.bind, session, request));
  }

  /**
   * Raises the error of a statement that Spark has refused: of JetSQL with misspelled words, so
   * that the filter did not let it through, or with clauses of streams at a wrong place.
   */
  static void refuseMisspelled(Object session, String text) {
    var connected = functions;
    if (connected == null || connected.filter.matches(text)) return; // `command` has asked
    PythonResponses.of(PythonCalls.ask(connected.describe, session, text));
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

  /** Executes a JetSQL statement and returns its rows. */
  static Seq<Row> execute(SparkSession session, String text, StructType columns) {
    var connected = functions;
    if (connected == null) throw Exceptions.raise(JetSqlException.closed());
    var response = PythonResponses.of(PythonCalls.run(connected.execute, session, text));
    return PythonResponses.rows(response, columns);
  }
}
