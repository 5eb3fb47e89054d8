package dev.jetsql.lookup;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.Serializable;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.util.IntervalUtils;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.unsafe.types.CalendarInterval;
import scala.collection.immutable.Map;

/**
 * The options of a JDBC table for joins with streams.
 *
 * @param enabled whether joins read the rows of a batch's keys and not the whole table
 * @param ttlMillis how long rows are used again; 0 without a cache
 * @param cacheRows how many rows each executor keeps
 */
record LookupOptions(boolean enabled, long ttlMillis, long cacheRows) implements Serializable {
  private static final String LOOKUP = "lookup";
  private static final String TTL = "lookup.cache.ttl";
  private static final String ROWS = "lookup.cache.rows";
  private static final String DEFAULT_ROWS = "10000";

  /** Reads the options of a table. Throws INVALID_OPTION_VALUE for a value that is none. */
  static LookupOptions of(JDBCOptions options) {
    var values = options.parameters();
    var ttl = text(values, TTL, "");
    var ttlMillis = ttl.isEmpty() ? 0 : millis(ttl);
    return new LookupOptions(
        flag(values, ttlMillis > 0), ttlMillis, rows(text(values, ROWS, DEFAULT_ROWS)));
  }

  private static String text(Map<String, String> values, String name, String other) {
    var value = values.get(name);
    return value.isDefined() ? value.get() : other;
  }

  private static boolean flag(Map<String, String> values, boolean other) {
    var text = text(values, LOOKUP, String.valueOf(other));
    if (text.equalsIgnoreCase("true")) return true;
    if (text.equalsIgnoreCase("false")) return false;
    throw invalid(LOOKUP, text, "Write 'true' or 'false'.");
  }

  private static long millis(String text) {
    try {
      CalendarInterval interval = IntervalUtils.fromIntervalString(text);
      var millis = IntervalUtils.getDuration(interval, TimeUnit.MILLISECONDS, 31);
      if (millis > 0) return millis;
    } catch (
        Exception e) { // no interval, reported below; Scala methods declare no checked exception
    }
    throw invalid(TTL, text, "Write an interval, such as '10 seconds'.");
  }

  private static long rows(String text) {
    try {
      var rows = Long.parseLong(text.strip());
      if (rows > 0) return rows;
    } catch (NumberFormatException e) { // no number: reported below
    }
    throw invalid(ROWS, text, "Write a number of rows, such as '10000'.");
  }

  private static RuntimeException invalid(String name, String value, String advice) {
    var message =
        "The option '%s' of a JDBC table cannot be '%s'. %s".formatted(name, value, advice);
    return Exceptions.raise(JetSqlException.of("INVALID_OPTION_VALUE", "22023", message));
  }
}
