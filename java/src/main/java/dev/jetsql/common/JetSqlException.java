package dev.jetsql.common;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * An error of JetSQL in the form of Spark's errors: with a condition, a SQLSTATE, a line and a
 * position.
 */
public final class JetSqlException extends AnalysisException {
  private static final long serialVersionUID = 1L;

  private JetSqlException(
      String message,
      Option<Object> line,
      Option<Object> position,
      String condition,
      String state) {
    super(
        message,
        line,
        position,
        Option.empty(),
        Option.apply(condition),
        Map$.MODULE$.<String, String>empty(),
        new QueryContext[0],
        Option.apply(state),
        Option.empty());
  }

  /**
   * Returns the message without the name of this class: the Thrift server sends this text to its
   * clients.
   */
  @Override
  @SuppressWarnings("OverrideThrowableToString") // clients must not see the class name
  public String toString() {
    return getMessage();
  }

  /**
   * Returns the error at the position of a node, unless it has one. Spark calls this for errors of
   * functions. The inherited method fails, because Spark has no such condition.
   */
  @Override
  public AnalysisException withPosition(Origin origin) {
    if (line().isDefined()) return this;
    return new JetSqlException(
        message(), origin.line(), origin.startPosition(), getCondition(), getSqlState());
  }

  /** Returns the error of a statement after the engine was closed. */
  public static JetSqlException closed() {
    return of("ENGINE_NOT_STARTED", "58000", "The engine was closed.");
  }

  /** Returns an error without a position in the statement. */
  public static JetSqlException of(String condition, String state, String message) {
    return at(Option.empty(), Option.empty(), condition, state, message);
  }

  /** Returns an error at the position of a node in the statement. */
  public static JetSqlException at(Origin origin, String condition, String state, String message) {
    return at(origin.line(), origin.startPosition(), condition, state, message);
  }

  /**
   * Returns an error at a position in the statement.
   *
   * @param line from 1
   * @param column from 0
   */
  public static JetSqlException at(
      int line, int column, String condition, String state, String message) {
    return at(Option.apply(line), Option.apply(column), condition, state, message);
  }

  private static JetSqlException at(
      Option<Object> line,
      Option<Object> position,
      String condition,
      String state,
      String message) {
    var name = "JETSQL." + condition;
    return new JetSqlException(
        "[" + name + "] " + message + " SQLSTATE: " + state, line, position, name, state);
  }

  /**
   * Returns the error in the field `error` of a response from Python.
   *
   * @param origin the position of an error that has none, or null
   */
  static JetSqlException of(JsonNode error, Origin origin) {
    var line = number(error.get("line"));
    var isPlaced = line.isDefined() || origin == null;
    return new JetSqlException(
        error.get("message").asText(),
        isPlaced ? line : origin.line(),
        isPlaced ? number(error.get("position")) : origin.startPosition(),
        error.get("condition").asText(),
        error.get("sqlstate").asText());
  }

  private static Option<Object> number(JsonNode value) {
    return value == null || value.isNull() ? Option.empty() : Option.apply(value.asInt());
  }
}
