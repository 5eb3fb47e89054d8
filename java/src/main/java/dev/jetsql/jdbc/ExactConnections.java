package dev.jetsql.jdbc;

import dev.jetsql.common.Exceptions;
import java.io.Serializable;
import java.lang.reflect.Method;
import java.sql.Array;
import java.sql.Connection;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDateTime;
import scala.Function1;
import scala.runtime.AbstractFunction1;

/** Opens connections that exchange values of `java.time` with the driver. */
final class ExactConnections extends AbstractFunction1<Object, Connection> implements Serializable {
  private static final long serialVersionUID = 1L;

  static {
    ExactPostgresDialect.register(); // in an executor, before a task asks Spark for the dialect
  }

  private final String url;
  private final Function1<Object, Connection> spark;
  private final DateTimeSettings settings;

  ExactConnections(String url, Function1<Object, Connection> spark, DateTimeSettings settings) {
    this.url = url;
    this.spark = spark;
    this.settings = settings;
  }

  @Override
  public Connection apply(Object partition) {
    try {
      var connection = spark.apply(partition);
      var guarded = GuardedConnections.add(connection, url, () -> spark.apply(-1));
      return ForwardedCalls.proxy(Connection.class, new ConnectionCalls(connection, guarded));
    } catch (Exception e) { // a checked one, too: Spark's functions are Scala's
      throw Exceptions.raise(FailedDatabase.in(e, url));
    }
  }

  private Object forwardTo(ForwardedCalls calls, Method method, Object[] args) throws Throwable {
    try {
      return calls.forward(method, args);
    } catch (SQLException e) {
      throw FailedDatabase.in(e, url);
    }
  }

  private final class ConnectionCalls extends ForwardedCalls {
    private final GuardedConnections.Guarded guarded;

    ConnectionCalls(Connection connection, GuardedConnections.Guarded guarded) {
      super(connection);
      this.guarded = guarded;
    }

    @Override
    Object call(Method method, Object[] args) throws Throwable {
      if (method.getName().equals("close")) guarded.release();
      if (method.getName().equals("createArrayOf")) args[1] = texts((Object[]) args[1]);
      var result = forwardTo(this, method, args);
      return method.getName().equals("prepareStatement")
          ? proxy(PreparedStatement.class, new StatementCalls((PreparedStatement) result))
          : result;
    }
  }

  private final class StatementCalls extends ForwardedCalls {
    private final PreparedStatement statement;

    StatementCalls(PreparedStatement statement) {
      super(statement);
      this.statement = statement;
    }

    @Override
    Object call(Method method, Object[] args) throws Throwable {
      switch (method.getName()) {
        case "setDate", "setTimestamp" -> setText((int) args[0], text(args[1]));
        case "setArray" -> setArray((int) args[0], (Array) args[1]);
        default -> {
          var result = forwardTo(this, method, args);
          return result instanceof ResultSet rows ? ExactRows.of(rows, settings) : result;
        }
      }
      return null;
    }

    /** Binds a text whose type PostgreSQL takes from the column. */
    private void setText(int parameter, String text) throws SQLException {
      statement.setObject(parameter, text, Types.OTHER);
    }

    private void setArray(int parameter, Array array) throws SQLException {
      if (DateTimeType.of(array.getBaseTypeName()) == null) statement.setArray(parameter, array);
      else setText(parameter, array.toString());
    }
  }

  /** Replaces the dates and timestamps of an array by texts. */
  private Object[] texts(Object[] values) throws SQLException {
    var texts = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      if (values[i] instanceof Object[] inner) texts[i] = texts(inner);
      else texts[i] = values[i] instanceof java.util.Date ? text(values[i]) : values[i];
    }
    return texts;
  }

  private String text(Object value) throws SQLException {
    var zone = settings.zone();
    if (value instanceof Date date)
      return DateTimeText.of(ExactValues.day(date).atStartOfDay(), zone);
    if (value instanceof ExactTimestamp timestamp && timestamp.isLocal())
      return DateTimeText.of(timestamp.toLocalDateTime(), zone);
    var instant = ExactValues.instant((Timestamp) value);
    var offset = zone.getRules().getOffset(instant);
    return DateTimeText.of(LocalDateTime.ofInstant(instant, offset), offset);
  }
}
