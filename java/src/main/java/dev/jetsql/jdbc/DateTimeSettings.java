package dev.jetsql.jdbc;

import java.io.Serializable;
import java.time.ZoneId;
import java.util.HashMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.internal.SQLConf;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How a connection exchanges dates and timestamps.
 *
 * @param zone the session's time zone, by which a TIMESTAMP has a local date and time
 * @param asNumbers whether Spark reads dates as days and timestamps as microseconds since 1970, as
 *     in its rows
 */
record DateTimeSettings(ZoneId zone, boolean asNumbers) implements Serializable {
  static final long MICROS_PER_DAY = TimeUnit.DAYS.toMicros(1);

  /** The option of a table with the time zone, for executors, whose sessions have no settings. */
  static final String ZONE = "jetsql.zone";

  static DateTimeSettings of(JDBCOptions options) {
    var zone = options.parameters().get(ZONE);
    return zone.isDefined()
        ? new DateTimeSettings(zoneOf(zone.get()), true)
        : new DateTimeSettings(sessionZone(), false);
  }

  /** Returns the options without JetSQL's. */
  static JDBCOptions remove(JDBCOptions options) {
    if (!options.parameters().contains(ZONE)) return options;
    var others = copy(options.parameters());
    others.keySet().removeIf(ZONE::equalsIgnoreCase);
    return new JDBCOptions(Map$.MODULE$.from(CollectionConverters.asScala(others)));
  }

  /** Returns options with the session's time zone. */
  static Map<String, String> add(Map<String, String> options) {
    var all = copy(options);
    all.put(ZONE, sessionZoneName());
    return Map$.MODULE$.from(CollectionConverters.asScala(all));
  }

  /** Copies options with the case of their names, which drivers distinguish. */
  private static HashMap<String, String> copy(Map<String, String> options) {
    var original = options instanceof CaseInsensitiveMap<String> map ? map.originalMap() : options;
    return new HashMap<>(CollectionConverters.asJava(original));
  }

  private static String sessionZoneName() {
    return SQLConf.get().sessionLocalTimeZone();
  }

  static ZoneId sessionZone() {
    return zoneOf(sessionZoneName());
  }

  private static ZoneId zoneOf(String name) {
    return DateTimeUtils.getZoneId(name);
  }
}
