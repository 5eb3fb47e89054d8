package dev.jetsql.sql;

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
 * Short conversations with a database, each of them one call of Python, one connection and one
 * transaction.
 *
 * <p>Connections are made as Spark's own JDBC source makes them, with the options of its tables. An
 * SQL error is a response, not an exception: on the way to Python its SQLSTATE would be lost.
 */
public final class Databases {
  private Databases() {}

  /**
   * Carry out steps in one transaction, and keep their changes only if every step went well and
   * `keep` is set.
   *
   * @param options JSON of a JDBC table's options
   * @param steps a JSON array of {"name", "sql", "expect"}; a step's value is its update count, or
   *     the first column of its first row, and must be what `expect` says where that is given
   * @return {"values": [...]}; or {"step", "state", "message"}: what the database said, state
   *     "DRIVER" when there is no driver for it; or {"step", "unexpected"}: the value that is not
   *     as expected. No step: connecting or committing.
   */
  public static String transact(String options, String steps, boolean keep) throws SQLException {
    var response = Json.MAPPER.createObjectNode();
    Connection connection = null;
    var kept = false;
    try {
      var jdbc = options(options);
      connection = connect(jdbc);
      connection.setAutoCommit(false);
      if (runAll(connection, jdbc.queryTimeout(), Json.read(steps), response) && keep) {
        connection.commit();
        kept = true;
      }
    } catch (Exception e) {
      explain(e, response);
    } finally {
      close(connection, kept, response);
    }
    return Json.write(response);
  }

  /**
   * Return the tables whose names begin with `prefix`, as {"values": [{"schema", "name"}]}, or an
   * error as `transact`.
   */
  public static String tables(String options, String prefix) {
    var response = Json.MAPPER.createObjectNode();
    var found = response.putArray("values");
    try (var connection = connect(options(options));
        var rows =
            connection
                .getMetaData()
                .getTables(connection.getCatalog(), null, prefix + "%", new String[] {"TABLE"})) {
      while (rows.next()) {
        found
            .addObject()
            .put("schema", rows.getString("TABLE_SCHEM"))
            .put("name", rows.getString("TABLE_NAME"));
      }
    } catch (Exception e) {
      explain(e, response);
    }
    return Json.write(response);
  }

  private static JDBCOptions options(String json) {
    Map<String, String> options = new HashMap<>();
    Json.read(json)
        .properties()
        .forEach(each -> options.put(each.getKey(), each.getValue().asText()));
    return new JDBCOptions(Map$.MODULE$.from(CollectionConverters.asScala(options)));
  }

  private static Connection connect(JDBCOptions options) {
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

  private static void close(Connection connection, boolean kept, ObjectNode response) {
    if (connection == null) return;
    try (connection) {
      if (!kept) connection.rollback();
    } catch (SQLException e) {
      // The database rolls back what was not committed when a connection ends, however it ends.
      if (!kept && !response.has("state")) explain(e, response);
    }
  }

  /**
   * Put the SQL error in an exception and its causes into the response; of a batch of rows the
   * error, not the rows.
   */
  private static void explain(Throwable error, ObjectNode response) {
    var best = error;
    for (var each = error; each != null; each = each.getCause()) {
      if (each instanceof SQLException || each instanceof ClassNotFoundException) best = each;
    }
    var message = best.getMessage() == null ? best.toString() : best.getMessage();
    var noDriver = best instanceof ClassNotFoundException || message.contains("No suitable driver");
    var state =
        best instanceof SQLException sql && sql.getSQLState() != null ? sql.getSQLState() : "";
    response.put("state", noDriver ? "DRIVER" : state);
    response.put("class", best.getClass().getName());
    response.put("message", message);
  }
}
