package dev.jetsql.sql;

import dev.jetsql.common.Json;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.jdbc.JdbcDialects;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Short conversations with a database, each of them one call across, one connection and one transaction.
 *
 * Connections are made as Spark's own JDBC source makes them, with the options of its tables. An SQL error is an answer,
 * not an exception: across the border its SQLSTATE would be lost.
 */
class Databases {

  /**
   * Carry out steps in one transaction. options: JSON of a JDBC table's options. steps: a JSON array of
   * {"name", "sql", "expect"}; a step's value is its update count, or the first column of its first row, and must be
   * what `expect` says where that is given. Unless every step went well and `keep` is set, nothing is kept.
   *
   * Answers {"values": [...]}, or {"step", "state", "message"}: what the database said, state "DRIVER" when there is no
   * driver for it; or {"step", "unexpected"}: the value that is not as expected. No step: connecting or committing.
   */
  static String transact(String options, String steps, boolean keep) throws Exception {
    ObjectNode answer = Json.MAPPER.createObjectNode();
    Connection connection = null;
    boolean kept = false;
    try {
      JDBCOptions jdbc = options(options);
      connection = connect(jdbc);
      connection.setAutoCommit(false);
      if (all(connection, jdbc.queryTimeout(), Json.MAPPER.readTree(steps), answer) && keep) {
        connection.commit();
        kept = true;
      }
    } catch (Exception e) {
      explain(e, answer);
    } finally {
      close(connection, kept, answer);
    }
    return Json.MAPPER.writeValueAsString(answer);
  }

  /** The tables whose names begin with `prefix`, as a JSON array of {"schema", "name"}; or an answer as of `transact`. */
  static String tables(String options, String prefix) throws Exception {
    ObjectNode answer = Json.MAPPER.createObjectNode();
    ArrayNode found = answer.putArray("values");
    Connection connection = null;
    try {
      connection = connect(options(options));
      ResultSet rows = connection.getMetaData().getTables(connection.getCatalog(), null, prefix + "%", new String[] {"TABLE"});
      while (rows.next()) {
        ObjectNode table = found.addObject();
        table.put("schema", rows.getString("TABLE_SCHEM"));
        table.put("name", rows.getString("TABLE_NAME"));
      }
    } catch (Exception e) {
      explain(e, answer);
    } finally {
      if (connection != null) connection.close();
    }
    return Json.MAPPER.writeValueAsString(answer);
  }

  private static JDBCOptions options(String json) throws Exception {
    Map options = (Map) Json.MAPPER.readValue(json, Map.class);
    return new JDBCOptions((scala.collection.immutable.Map) Map$.MODULE$.from(CollectionConverters.asScala(options)));
  }

  private static Connection connect(JDBCOptions options) {
    Object connect = JdbcDialects.get(options.url()).createConnectionFactory(options);
    return (Connection) ((scala.Function1) connect).apply(Integer.valueOf(-1));
  }

  private static boolean all(Connection connection, int timeout, JsonNode steps, ObjectNode answer) throws Exception {
    ArrayNode values = answer.putArray("values");
    for (int i = 0; i < steps.size(); i++) {
      JsonNode step = (JsonNode) steps.get(i);
      answer.put("step", step.get("name").asText());
      String value = value(connection, timeout, step.get("sql").asText());
      if (step.hasNonNull("expect") && !step.get("expect").asText().equals(value)) {
        answer.put("unexpected", value);
        return false;
      }
      values.add(value);
    }
    answer.remove("step");
    return true;
  }

  private static String value(Connection connection, int timeout, String sql) throws SQLException {
    Statement statement = connection.createStatement();
    try {
      if (timeout > 0) statement.setQueryTimeout(timeout);
      if (!statement.execute(sql)) return String.valueOf(statement.getUpdateCount());
      ResultSet rows = statement.getResultSet();
      return rows.next() ? rows.getString(1) : null;
    } finally {
      statement.close();
    }
  }

  private static void close(Connection connection, boolean kept, ObjectNode answer) {
    if (connection == null) return;
    try {
      try {
        if (!kept) connection.rollback();
      } finally {
        connection.close();
      }
    } catch (SQLException e) {
      // The database undoes what was not committed when a connection ends, however it ends.
      if (!kept && !answer.has("state")) explain(e, answer);
    }
  }

  /** The SQL error in an exception and what wraps it; of a batch of rows the error itself and not the rows. */
  private static void explain(Throwable error, ObjectNode answer) {
    Throwable best = error;
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof SQLException || each instanceof ClassNotFoundException) best = each;
    }
    boolean noDriver = best instanceof ClassNotFoundException || String.valueOf(best.getMessage()).contains("No suitable driver");
    String state = best instanceof SQLException ? ((SQLException) best).getSQLState() : null;
    answer.put("state", noDriver ? "DRIVER" : state == null ? "" : state);
    answer.put("class", best.getClass().getName());
    answer.put("message", best.getMessage() == null ? best.toString() : best.getMessage());
  }
}
