package dev.jetsql.jdbc;

import java.sql.Connection;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.jdbc.JdbcDialects;
import org.apache.spark.sql.jdbc.PostgresDialect;
import org.apache.spark.sql.types.DataTypes;
import scala.Function1;
import scala.Option;

/**
 * Spark's dialect of PostgreSQL, with dates and timestamps that do not depend on the time zone of a
 * machine.
 *
 * <p>Spark and the driver exchange `java.sql.Date` and `java.sql.Timestamp`. Their conversions use
 * the time zone of the JVM, in which some local times do not exist, and a calendar without
 * 1582-10-10. All reads and writes of Spark's JDBC source, and those of JetSQL, open their
 * connections with the dialect, so its connections exchange values of `java.time` with the driver.
 */
public final class ExactPostgresDialect extends PostgresDialect {
  private static final long serialVersionUID = 1L;
  private static final LocalDate SAME_CALENDAR = LocalDate.of(1900, 1, 2);

  /** The days since then that some time zone of a machine skips: islands crossed the date line. */
  private static final List<LocalDate> SKIPPED =
      Stream.of("1993-08-21", "1994-12-31", "1995-01-01", "2011-12-30")
          .map(LocalDate::parse)
          .toList();

  /** Replaces Spark's dialect in this JVM. A second call does nothing. */
  public static synchronized void register() {
    // A dialect is equal to the one that it extends.
    JdbcDialects.unregisterDialect(new PostgresDialect());
    JdbcDialects.registerDialect(new ExactPostgresDialect());
  }

  static boolean isUrl(String url) {
    return url.toLowerCase(Locale.ROOT).startsWith("jdbc:postgresql:");
  }

  @Override
  public Function1<Object, Connection> createConnectionFactory(JDBCOptions options) {
    var settings = DateTimeSettings.of(options);
    var driver = PostgresDefaults.add(DateTimeSettings.remove(options));
    var spark = super.createConnectionFactory(driver);
    return new ExactConnections(options.url(), spark, settings);
  }

  @Override
  public LocalDateTime convertJavaTimestampToTimestampNTZ(Timestamp timestamp) {
    return timestamp.toLocalDateTime();
  }

  @Override
  public Timestamp convertTimestampNTZToJavaTimestamp(LocalDateTime local) {
    return local == null ? null : new ExactTimestamp(null, local); // null in an array
  }

  @Override
  public Object compileValue(Object value) {
    var zone = DateTimeSettings.sessionZone();
    if (value instanceof Timestamp timestamp) return compileValue(timestamp.toInstant());
    if (value instanceof Date date) return compileValue(date.toLocalDate());
    if (value instanceof LocalDate date) return quote(DateTimeText.of(date));
    if (value instanceof LocalDateTime local) return quote(DateTimeText.of(local, zone));
    if (!(value instanceof Instant instant)) return super.compileValue(value);
    var offset = zone.getRules().getOffset(instant);
    return quote(DateTimeText.of(LocalDateTime.ofInstant(instant, offset), offset));
  }

  private static String quote(String text) {
    return "'" + text + "'";
  }

  /**
   * Leaves conditions to Spark whose dates may be other ones in `java.sql.Date` and
   * `java.sql.Timestamp`, which Spark's filters for data sources contain. Driver and executors must
   * agree on these dates, so they do not depend on the machine.
   */
  @Override
  public Option<String> compileExpression(Expression condition) {
    return hasInexactDate(condition) ? Option.empty() : super.compileExpression(condition);
  }

  private static boolean hasInexactDate(Expression condition) {
    if (condition instanceof Literal<?> literal && literal.value() != null) {
      if (literal.dataType().equals(DataTypes.DateType))
        return isInexact(LocalDate.ofEpochDay((int) literal.value()));
      if (literal.dataType().equals(DataTypes.TimestampType))
        return (long) literal.value() / DateTimeSettings.MICROS_PER_DAY
            < SAME_CALENDAR.toEpochDay();
    }
    return Arrays.stream(condition.children()).anyMatch(ExactPostgresDialect::hasInexactDate);
  }

  /** Returns whether `java.sql.Date` may have another day in its place on some machine. */
  static boolean isInexact(LocalDate day) {
    return day.isBefore(SAME_CALENDAR)
        || SKIPPED.stream()
            .anyMatch(skipped -> Math.abs(ChronoUnit.DAYS.between(skipped, day)) <= 1);
  }
}
