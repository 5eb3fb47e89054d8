package dev.jetsql.options;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.SimilarNames;
import dev.jetsql.connections.ConnectionOptions;
import dev.jetsql.connections.NamedSecrets;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin$;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions$;
import scala.jdk.javaapi.CollectionConverters;

/** The options of JDBC tables that Spark or the driver knows. */
public final class JdbcOptions {
  private static final String OF_SPARK =
      "org$apache$spark$sql$execution$datasources$jdbc$JDBCOptions$$jdbcOptionNames";
  static final List<String> LOGIN = List.of("user", "password");

  /** The schemes of the databases for which Spark has a dialect. */
  private static final List<String> SCHEMES =
      List.of(
          "postgresql",
          "derby",
          "mysql",
          "mariadb",
          "sqlserver",
          "oracle",
          "db2",
          "h2",
          "teradata",
          "snowflake",
          "databricks");

  private static final Pattern SCHEME = Pattern.compile("\\s*(jdbc:)?([\\w+.-]+):");

  /**
   * A password there is no login: PostgreSQL's driver takes it for a part of the host, and logs it.
   */
  private static final Pattern LOGIN_OF_POSTGRESQL =
      Pattern.compile("\\s*jdbc:postgresql://[^/?]*@.*", Pattern.DOTALL);

  private JdbcOptions() {}

  /**
   * Refuses a URL with a login for PostgreSQL, and one that no driver accepts and whose scheme
   * resembles that of a known database. Spark reports neither: its error is "No suitable driver".
   *
   * @param place of the URL in the statement
   * @param options those of the table
   */
  public static void checkUrl(Origin place, Map<String, String> options) {
    var url = option(options, "url");
    if (LOGIN_OF_POSTGRESQL.matcher(url).matches())
      throw refusal(
          place,
          "PostgreSQL's driver reads no user and password before the host of a 'url'. Write the"
              + " options 'user' and 'password'.");
    var scheme = SCHEME.matcher(url);
    if (!scheme.lookingAt()) return;
    var name = scheme.group(2).toLowerCase(Locale.ROOT);
    var meant = SCHEMES.contains(name) ? name : SimilarNames.nearest(SCHEMES, name);
    var isRight = scheme.group(1) != null && SCHEMES.contains(scheme.group(2)); // in this case only
    if (meant == null || isRight) return;
    if (isAccepted(url, option(options, "driver"))) return;
    throw refusal(
        place,
        "No JDBC driver accepts a 'url' that begins with '"
            + scheme.group().strip()
            + "'. Did you mean 'jdbc:"
            + meant
            + ":'?");
  }

  /**
   * Throws the error of an option of a connection that neither Spark nor the driver knows, and of
   * its URL.
   *
   * @param options those of the connection
   */
  public static void checkOfConnection(String name, Map<String, String> options) {
    if (name.equalsIgnoreCase("url")) checkUrl(CurrentOrigin$.MODULE$.get(), options);
    var known = new ArrayList<>(ConnectionOptions.ofJdbc());
    if (SimilarNames.contains(known, name)) return;
    var ofDriver = ofDriver(options);
    known.addAll(ofDriver);
    if (SimilarNames.contains(known, name)) return;
    var nearest = SimilarNames.nearest(known, name);
    if (nearest == null && ofDriver.isEmpty() && !ofSpark().contains(name.toLowerCase(Locale.ROOT)))
      return;
    throw Exceptions.raise(
        JetSqlException.of(
            "UNKNOWN_OPTION",
            "42616",
            "Connections of TYPE jdbc have no option '"
                + name
                + "'."
                + (nearest == null
                    ? " Write it into the table."
                    : " Did you mean '" + nearest + "'?")));
  }

  private static RuntimeException refusal(Origin place, String message) {
    return Exceptions.raise(JetSqlException.at(place, "INVALID_OPTION_VALUE", "22023", message));
  }

  private static boolean isAccepted(String url, String className) {
    try {
      return driver(url, className).acceptsURL(url);
    } catch (SQLException | ReflectiveOperationException | RuntimeException e) {
      return false; // there is no such driver
    }
  }

  /** Returns the names of the options that Spark reads of JDBC tables, in lower case. */
  @SuppressWarnings("unchecked") // a private set of Spark's
  public static Set<String> ofSpark() {
    try {
      var names = JDBCOptions$.class.getMethod(OF_SPARK).invoke(JDBCOptions$.MODULE$);
      return CollectionConverters.asJava((scala.collection.mutable.Set<String>) names);
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /**
   * Returns the properties that the driver of a table lists. Returns none if it lists only what a
   * login needs, as JDBC allows, or cannot be asked: Spark reports what is wrong with it.
   */
  static List<String> ofDriver(Map<String, String> options) {
    try {
      var url = option(options, "url");
      var driver = driver(url, option(options, "driver"));
      var properties = Arrays.asList(driver.getPropertyInfo(url, new Properties()));
      var isComplete =
          properties.stream().anyMatch(each -> !each.required && !LOGIN.contains(each.name));
      return isComplete ? properties.stream().map(each -> each.name).toList() : List.of();
    } catch (SQLException | ReflectiveOperationException | RuntimeException e) {
      return List.of();
    }
  }

  private static Driver driver(String url, String className)
      throws SQLException, ReflectiveOperationException {
    if (className.isEmpty()) return DriverManager.getDriver(url);
    var loader = Thread.currentThread().getContextClassLoader();
    return Class.forName(className, true, loader)
        .asSubclass(Driver.class)
        .getConstructor()
        .newInstance();
  }

  private static String option(Map<String, String> options, String name) {
    for (var entry : options.entrySet())
      if (entry.getKey().equalsIgnoreCase(name))
        return NamedSecrets.reveal(entry.getKey(), entry.getValue(), options);
    return "";
  }
}
