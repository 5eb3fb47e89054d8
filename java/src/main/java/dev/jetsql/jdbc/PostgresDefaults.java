package dev.jetsql.jdbc;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Defaults of PostgreSQL's driver, which a table's OPTIONS override. An attempt to connect fails
 * after 5 s.
 */
final class PostgresDefaults {
  private static final Map<String, String> DEFAULTS =
      Map.of(
          "connectTimeout", "5",
          "loginTimeout", "5",
          "tcpKeepAlive", "true",
          "ApplicationName", "JetSQL");

  private PostgresDefaults() {}

  /** Returns options with those defaults that they do not have. */
  static JDBCOptions add(JDBCOptions options) {
    var given = options.parameters(); // without regard to the case of names
    var all = new HashMap<>(CollectionConverters.asJava(given.originalMap()));
    DEFAULTS.forEach(
        (name, value) -> {
          if (!given.contains(name)) all.put(name, value);
        });
    return new JDBCOptions(Map$.MODULE$.from(CollectionConverters.asScala(all)));
  }
}
