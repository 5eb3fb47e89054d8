package dev.jetsql.jdbc;

import java.sql.Date;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/**
 * Reads the values of `java.sql` that Spark writes. Spark makes them itself where JetSQL's rules do
 * not see a statement, such as CREATE TABLE AS.
 */
final class ExactValues {
  private static final String DATETIME_FIELD_OVERFLOW = "22008";
  // The days that the Julian calendar skips become some of those after them.
  private static final LocalDate SWITCH = LocalDate.of(1582, 10, 15);
  private static final LocalDate AMBIGUOUS_UNTIL = SWITCH.plusDays(11);

  private ExactValues() {}

  /** Returns the day that Spark writes. */
  static LocalDate day(Date date) throws SQLException {
    if (date instanceof ExactDate) return date.toLocalDate();
    var day = LocalDate.ofEpochDay(DateTimeUtils.fromJavaDate(date));
    checkWritten(day);
    return day;
  }

  /** Returns the moment that Spark writes. */
  static Instant instant(Timestamp timestamp) throws SQLException {
    if (timestamp instanceof ExactTimestamp) return timestamp.toInstant();
    var instant = DateTimeUtils.microsToInstant(DateTimeUtils.fromJavaTimestamp(timestamp));
    checkWritten(instant.atOffset(ZoneOffset.UTC).toLocalDate());
    return instant;
  }

  private static void checkWritten(LocalDate day) throws SQLException {
    if (!day.isBefore(SWITCH) && day.isBefore(AMBIGUOUS_UNTIL))
      throw new SQLException(
          "Spark's JDBC source cannot tell dates of October 1582 apart in this statement."
              + " Create the table, and write the rows with INSERT INTO.",
          DATETIME_FIELD_OVERFLOW);
  }

  /** Returns the error for a value that Spark would read as another one. */
  static SQLException notReadable(Object value) {
    return new SQLException(
        "Spark's JDBC source cannot read " + value + " in this query.", DATETIME_FIELD_OVERFLOW);
  }
}
