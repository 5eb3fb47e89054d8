package dev.jetsql.jdbc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.TaskContext$;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils;
import org.apache.spark.sql.jdbc.JdbcDialects;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Finds the rows of a batch that a database refuses, by bisection: a range of rows is refused if
 * the database refuses one of them. The last column of the rows is their number.
 *
 * <p>Both methods return {"values": [{"row", "state", "message"}]} with the refused rows, or an
 * error as `Databases.transact` does. A refused row is one whose error has a SQLSTATE that begins
 * with one of `states`; any other error ends the search.
 */
public final class RefusedRows {
  private static final int CHUNK = 1000;

  private final JsonNode states;
  private final int most;
  private final ObjectNode response = Json.MAPPER.createObjectNode();
  private final ArrayNode refused = response.putArray("values");

  private RefusedRows(String states, int most) {
    this.states = Json.read(states);
    this.most = most;
  }

  /**
   * Writes rows to a staging table as Spark's writer does, but not those that its types refuse.
   *
   * @param options the options of Spark's writer, as JSON
   * @param states a JSON array of prefixes
   * @param most the number of refused rows after which the search ends
   */
  public static String stage(Dataset<Row> rows, String options, String states, int most) {
    var search = new RefusedRows(states, most);
    try {
      search.stageAll(rows, Databases.options(options));
    } catch (Exception e) {
      Databases.explain(e, search.response);
    }
    return Json.write(search.response);
  }

  /**
   * Tries to insert the rows of a staging table into the table of a sink, in one transaction that
   * is rolled back.
   *
   * @param options the options of a JDBC table, as JSON
   * @param setup a JSON array of statements that begin the transaction
   * @param numbers a query that returns the numbers of the rows in their order
   * @param insert a statement that inserts the rows from one number to another one, both included
   */
  public static String insert(
      String options, String setup, String numbers, String insert, String states, int most) {
    var search = new RefusedRows(states, most);
    try {
      var jdbc = Databases.options(options);
      try (var connection = Databases.connect(jdbc)) {
        connection.setAutoCommit(false);
        try {
          search.insertAll(connection, Json.read(setup), numbers, insert);
        } finally {
          connection.rollback();
        }
      }
    } catch (Exception e) {
      Databases.explain(e, search.response);
    }
    return Json.write(search.response);
  }

  private void stageAll(Dataset<Row> rows, JDBCOptions options) throws SQLException {
    var iterator = rows.toLocalIterator();
    var chunk = new ArrayList<Row>(CHUNK);
    while (iterator.hasNext() && refused.size() < most) {
      chunk.add(iterator.next());
      if (chunk.size() < CHUNK && iterator.hasNext()) continue;
      stageRange(chunk, rows, options);
      chunk.clear();
    }
  }

  private void stageRange(List<Row> chunk, Dataset<Row> rows, JDBCOptions options)
      throws SQLException {
    if (chunk.isEmpty() || refused.size() >= most) return;
    try {
      stageRows(chunk, rows, options);
    } catch (SQLException e) {
      if (chunk.size() == 1) {
        var row = chunk.get(0);
        refuse(row.getLong(row.length() - 1), checked(e));
        return;
      }
      checked(e);
      var middle = chunk.size() / 2;
      stageRange(chunk.subList(0, middle), rows, options);
      stageRange(chunk.subList(middle, chunk.size()), rows, options);
    }
  }

  /** Writes rows in a transaction of their own. */
  private static void stageRows(List<Row> chunk, Dataset<Row> rows, JDBCOptions options)
      throws SQLException {
    var schema = rows.schema();
    var table = options.tableOrQuery();
    var dialect = JdbcDialects.get(options.url());
    var insert = JdbcUtils.getInsertStatement(table, schema, Option.empty(), true, dialect);
    // Spark's writer counts the rows in the metrics of a task, and this is the driver.
    var tasks = TaskContext$.MODULE$;
    tasks.setTaskContext(tasks.empty());
    try {
      JdbcUtils.savePartition(
          table,
          CollectionConverters.asScala(chunk.iterator()),
          schema,
          insert,
          options.batchSize(),
          dialect,
          options.isolationLevel(),
          options);
    } finally {
      tasks.unset();
    }
  }

  private void insertAll(Connection connection, JsonNode setup, String numbers, String insert)
      throws SQLException {
    long[] rows;
    try (var statement = connection.createStatement()) {
      for (var each : setup) statement.execute(each.asText());
      rows = numbers(statement.executeQuery(numbers));
    }
    try (var statement = connection.prepareStatement(insert)) {
      insertRange(connection, statement, rows, 0, rows.length);
      var tried = rows.length;
      // A row can need one that comes after it, as in a table that refers to itself.
      while (!refused.isEmpty() && refused.size() < tried && refused.size() < most) {
        tried = refused.size();
        rows = new long[tried];
        for (var i = 0; i < tried; i++) rows[i] = refused.get(i).get("row").asLong();
        refused.removeAll();
        for (var i = 0; i < tried; i++) insertRange(connection, statement, rows, i, i + 1);
      }
    }
  }

  /** Inserts the rows from one index to another one, the second excluded. */
  private void insertRange(
      Connection connection, PreparedStatement statement, long[] rows, int start, int stop)
      throws SQLException {
    if (start == stop || refused.size() >= most) return;
    var savepoint = connection.setSavepoint();
    try {
      statement.setLong(1, rows[start]);
      statement.setLong(2, rows[stop - 1]);
      statement.executeUpdate();
      connection.releaseSavepoint(savepoint);
    } catch (SQLException e) {
      var error = checked(e);
      connection.rollback(savepoint);
      if (stop - start == 1) {
        refuse(rows[start], error);
        return;
      }
      var middle = start + (stop - start) / 2;
      insertRange(connection, statement, rows, start, middle);
      insertRange(connection, statement, rows, middle, stop);
    }
  }

  /** Returns the error of a refused row. Throws any other error. */
  private ObjectNode checked(SQLException error) throws SQLException {
    var found = Json.MAPPER.createObjectNode();
    Databases.explain(error, found);
    var state = found.get("state").asText();
    for (var prefix : states) if (state.startsWith(prefix.asText())) return found;
    throw error;
  }

  private void refuse(long row, ObjectNode error) {
    refused
        .addObject()
        .put("row", row)
        .put("state", error.get("state").asText())
        .put("message", error.get("message").asText());
  }

  private static long[] numbers(ResultSet found) throws SQLException {
    var numbers = new long[1024];
    var count = 0;
    while (found.next()) {
      if (count == numbers.length) numbers = Arrays.copyOf(numbers, 2 * count);
      numbers[count++] = found.getLong(1);
    }
    return Arrays.copyOf(numbers, count);
  }
}
