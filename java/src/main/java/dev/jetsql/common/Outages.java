package dev.jetsql.common;

import org.apache.spark.SparkEnv;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.internal.SQLConf;

/** The time that a task waits for an external system that does not answer. */
public final class Outages {
  /** The setting of Spark, of a session or of a job. */
  public static final String TIMEOUT = "spark.jetsql.externalSystemTimeout";

  private static final String DEFAULT = "10s";
  private static final long LEAST_MILLIS = 1_000;

  private Outages() {}

  /** Returns the timeout of a session or job in milliseconds. Throws INVALID_OPTION_VALUE. */
  public static long timeoutMillis(SQLConf conf) {
    return millis(conf.getConfString(TIMEOUT, DEFAULT));
  }

  /** Returns the timeout of the engine in milliseconds, also in executors. */
  public static long timeoutMillis() {
    var spark = SparkEnv.get();
    return millis(spark == null ? DEFAULT : spark.conf().get(TIMEOUT, DEFAULT));
  }

  private static long millis(String time) {
    try {
      var millis = JavaUtils.timeStringAsMs(time);
      if (millis >= LEAST_MILLIS) return millis;
    } catch (NumberFormatException e) {
      throw refused(time);
    }
    throw refused(time);
  }

  private static RuntimeException refused(String time) {
    var message = "The setting '" + TIMEOUT + "' is '" + time + "', and not a time of 1s or more.";
    return Exceptions.raise(JetSqlException.of("INVALID_OPTION_VALUE", "22023", message));
  }
}
