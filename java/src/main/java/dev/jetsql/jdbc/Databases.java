package dev.jetsql.jdbc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.jdbc.JdbcDialects;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Short transactions in a database. Each is one call from Python and uses its own connection.
 *
 * <p>Connections are opened as Spark's JDBC source opens them, with the options of a JDBC table. An
 * SQL error is returned in the response and not thrown, because Py4J would lose its SQLSTATE.
 */
public final class Databases {
  private Databases() {}

  /**
   * Runs SQL statements in one transaction, and commits it if all steps succeed and `keep` is set.
   * Otherwise rolls it back.
   *
   * @param options the options of a JDBC table, as JSON
   * @param steps a JSON array of {"name", "sql", "expect"}. The value of a step is its update
   *     count, or the first column of its first row. If `expect` is given, the value must equal it.
   * @return {"values": [...]}; or {"step", "state", "class", "message"} for an SQL error, with the
   *     state "DRIVER" when no JDBC driver accepts the URL; or {"step", "unexpected"} with a value
   *     that differs from `expect`. An error without "step" occurred while connecting or
   *     committing.
   */
  public static String transact(String options, String steps, boolean keep) throws SQLException {
    var response = Json.MAPPER.createObjectNode();
    Connection connection = null;
    var committed = false;
    try {
      var jdbc = options(options);
      connection = connect(jdbc);
      connection.setAutoCommit(false);
      if (runAll(connection, jdbc.queryTimeout(), Json.read(steps), response) && keep) {
        connection.commit();
        committed = true;
      }
    } catch (Exception e) {
      explain(e, response);
    } finally {
      close(connection, committed, response);
    }
    return Json.write(response);
  }

  /**
   * Returns the tables whose names begin with `prefix`, as {"values": [{"schema", "name"}]}, or an
   * error as `transact` does.
   */
  public static String tables(String options, String prefix) {
    var response = Json.MAPPER.createObjectNode();
    var tables = response.putArray("values");
    try (var connection = connect(options(options));
        var rows =
            connection
                .getMetaData()
                .getTables(connection.getCatalog(), null, prefix + "%", new String[] {"TABLE"})) {
      while (rows.next()) {
        tables
            .addObject()
            .put("schema", rows.getString("TABLE_SCHEM"))
            .put("name", rows.getString("TABLE_NAME"));
      }
    } catch (Exception e) {
      explain(e, response);
    }
    return Json.write(response);
  }

  static JDBCOptions options(String json) {
    Map<String, String> options = new HashMap<>();
    Json.read(json)
        .properties()
        .forEach(option -> options.put(option.getKey(), option.getValue().asText()));
    return new JDBCOptions(Map$.MODULE$.from(CollectionConverters.asScala(options)));
  }

  static Connection connect(JDBCOptions options) {
    return JdbcDialects.get(options.url()).createConnectionFactory(options).apply(-1);
  }

  private static boolean runAll(
      Connection connection, int timeout, JsonNode steps, ObjectNode response) throws SQLException {
    var values = response.putArray("values");
    for (var step : steps) {
      response.put("step", step.get("name").asText());
      var value = run(connection, timeout, step.get("sql").asText());
      if (step.hasNonNull("expect") && !step.get("expect").asText().equals(value)) {
        response.put("unexpected", value);
        return false;
      }
      values.add(value);
    }
    response.remove("step");
    return true;
  }

  private static String run(Connection connection, int timeout, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      if (timeout > 0) statement.setQueryTimeout(timeout);
      if (!statement.execute(sql)) return String.valueOf(statement.getUpdateCount());
      var rows = statement.getResultSet();
      return rows.next() ? rows.getString(1) : null;
    }
  }

  private static void close(Connection connection, boolean committed, ObjectNode response) {
    if (connection == null) return;
    try (connection) {
      if (!committed) connection.rollback();
    } catch (SQLException e) {
      // The database rolls back an open transaction when its connection ends.
      if (!committed && !response.has("state")) explain(e, response);
    }
  }

  /**
   * Puts the innermost SQL error of an exception into the response. The outer errors of a batch
   * quote its rows.
   */
  static void explain(Throwable error, ObjectNode response) {
    var cause = error;
    for (var throwable = error; throwable != null; throwable = throwable.getCause()) {
      if (throwable instanceof SQLException || throwable instanceof ClassNotFoundException)
        cause = throwable;
    }
    var message = cause.getMessage() == null ? cause.toString() : cause.getMessage();
    var noDriver =
        cause instanceof ClassNotFoundException || message.contains("No suitable driver");
    var state =
        cause instanceof SQLException sql && sql.getSQLState() != null ? sql.getSQLState() : "";
    response.put("state", noDriver ? "DRIVER" : state);
    response.put("class", cause.getClass().getName());
    response.put("message", message);
  }
}
