package dev.jetsql.jdbc;

import java.lang.reflect.Method;
import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Objects;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/** The rows of a query, whose dates and timestamps are exact. */
final class ExactRows extends ForwardedCalls {
  private static final int ARRAY_VALUE = 2; // the column of an array's rows

  private final ResultSet rows;
  private final DateTimeSettings settings;
  private final DateTimeType[] types;
  private final DateTimeType[] elements;

  private ExactRows(
      ResultSet rows, DateTimeSettings settings, DateTimeType[] types, DateTimeType[] elements) {
    super(rows);
    this.rows = rows;
    this.settings = settings;
    this.types = types;
    this.elements = elements;
  }

  /** Returns the rows, wrapped if they have a date or a timestamp. */
  static ResultSet of(ResultSet rows, DateTimeSettings settings) throws SQLException {
    var columns = rows.getMetaData();
    var types = new DateTimeType[columns.getColumnCount() + 1];
    var elements = new DateTimeType[types.length];
    for (int i = 1; i < types.length; i++) {
      var name = columns.getColumnTypeName(i);
      types[i] = DateTimeType.of(name);
      // The names of PostgreSQL's array types begin with an underscore.
      if (columns.getColumnType(i) == Types.ARRAY) elements[i] = DateTimeType.of(name.substring(1));
    }
    if (Arrays.stream(types).allMatch(Objects::isNull)
        && Arrays.stream(elements).allMatch(Objects::isNull)) return rows;
    return proxy(ResultSet.class, new ExactRows(rows, settings, types, elements));
  }

  @Override
  Object call(Method method, Object[] args) throws Throwable {
    if (args == null || !(args[0] instanceof Integer column)) return forward(method, args);
    var type = types[column];
    if (type == null && elements[column] == null) return forward(method, args);
    return switch (method.getName()) {
      case "getArray" -> array(rows.getArray(column), elements[column]);
      case "getInt" ->
          settings.asNumbers() ? orZero(days(type, rows, column)) : forward(method, args);
      case "getLong" ->
          settings.asNumbers() ? orZero(micros(type, rows, column)) : forward(method, args);
      case "getDate" -> date(type, rows, column);
      case "getTimestamp" -> timestamp(type, rows, column);
      case "getObject" -> checkTime(forward(method, args));
      default -> forward(method, args);
    };
  }

  private static int orZero(Integer value) {
    return value == null ? 0 : value;
  }

  private static long orZero(Long value) {
    return value == null ? 0 : value;
  }

  private Integer days(DateTimeType type, ResultSet rows, int column) throws SQLException {
    var local = type.local(rows, column, settings.zone());
    return local == null ? null : (Integer) Math.toIntExact(local.toLocalDate().toEpochDay());
  }

  private Long micros(DateTimeType type, ResultSet rows, int column) throws SQLException {
    var instant = type.instant(rows, column, settings.zone());
    return instant == null ? null : (Long) DateTimeUtils.instantToMicros(instant);
  }

  private ExactDate date(DateTimeType type, ResultSet rows, int column) throws SQLException {
    var local = type.local(rows, column, settings.zone());
    return local == null ? null : new ExactDate(local.toLocalDate());
  }

  private ExactTimestamp timestamp(DateTimeType type, ResultSet rows, int column)
      throws SQLException {
    var local = type.local(rows, column, settings.zone());
    return local == null
        ? null
        : new ExactTimestamp(type.instant(rows, column, settings.zone()), local);
  }

  private static Object checkTime(Object value) throws SQLException {
    if (value instanceof LocalTime time && DateTimeType.isMidnight(time))
      throw ExactValues.notReadable("the time 24:00");
    return value;
  }

  private Array array(Array array, DateTimeType type) {
    if (array == null || type == null) return array;
    return proxy(
        Array.class,
        new ForwardedCalls(array) {
          @Override
          Object call(Method method, Object[] args) throws Throwable {
            return method.getName().equals("getArray")
                ? values(array, type)
                : forward(method, args);
          }
        });
  }

  private Object[] values(Array array, DateTimeType type) throws SQLException {
    var values = new ArrayList<Object>();
    try (var elements = array.getResultSet()) {
      var isNested = elements.getMetaData().getColumnType(ARRAY_VALUE) == Types.ARRAY;
      while (elements.next()) {
        var inner = isNested ? elements.getArray(ARRAY_VALUE) : null;
        values.add(inner == null ? value(elements, type) : values(inner, type));
      }
    }
    return values.toArray();
  }

  /** Returns an element of an array. Spark reads a `timestamp` either with or without its zone. */
  private Object value(ResultSet elements, DateTimeType type) throws SQLException {
    if (type == DateTimeType.DATE)
      return settings.asNumbers()
          ? days(type, elements, ARRAY_VALUE)
          : date(type, elements, ARRAY_VALUE);
    return settings.asNumbers() && type == DateTimeType.TIMESTAMPTZ
        ? micros(type, elements, ARRAY_VALUE)
        : timestamp(type, elements, ARRAY_VALUE);
  }
}
