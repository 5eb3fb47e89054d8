package dev.jetsql.parser;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.PythonResponses;
import dev.jetsql.common.Sequences;
import java.util.List;
import java.util.Map;
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
  /** The filter that saves Spark's own statements the calls; null without an open engine. */
  private static volatile StatementFilter filter;

  private EngineStatements() {}

  /**
   * Passes statements to the engine.
   *
   * @param beginnings a regular expression that matches the beginning of every JetSQL statement
   */
  public static void connect(String beginnings) {
    filter = new StatementFilter(beginnings);
  }

  /** Disconnects the engine: Spark handles all statements from now on. */
  public static void disconnect() {
    filter = null;
  }

  /** Returns the command for a JetSQL statement, or null for any other statement. */
  public static LogicalPlan command(Object session, String text) {
    if (!admits(text)) return null;
    var response = describe(session, text);
    return response == null ? null : command(text, response);
  }

  /**
   * Returns the command for a JetSQL statement with parameter markers, or null for any other
   * statement.
   *
   * @param values returns the texts of literals, by name or by position
   */
  static LogicalPlan command(Object session, String text, Supplier<Object> values) {
    if (!admits(text)) return null;
    var bound = EngineCallback.BIND.ask(session, Map.of("text", text, "values", values.get()));
    return bound == null ? null : command(session, bound.asText());
  }

  /**
   * Refuses values by position that are more or fewer than the markers; Spark ignores further ones.
   */
  static void checkNumber(Object session, String text, int values) {
    if (!EngineCallback.isConnected()) return;
    EngineCallback.CHECK_NUMBER.ask(session, Map.of("text", text, "values", values));
  }

  /**
   * Raises the error of a statement that Spark has refused: of JetSQL with misspelled words, so
   * that the filter did not let it through, or with clauses of streams at a wrong place.
   */
  static void refuseMisspelled(Object session, String text) {
    if (!EngineCallback.isConnected() || admits(text)) return; // `command` has asked
    describe(session, text);
  }

  private static boolean admits(String text) {
    var current = filter;
    return current != null && current.matches(text);
  }

  private static JsonNode describe(Object session, String text) {
    return EngineCallback.DESCRIBE.ask(session, Map.of("text", text));
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
    var response = EngineCallback.EXECUTE.run(session, Map.of("text", text));
    return PythonResponses.rows(response, columns);
  }
}
