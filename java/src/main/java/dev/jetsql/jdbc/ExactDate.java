package dev.jetsql.jdbc;

import dev.jetsql.common.Exceptions;
import java.sql.Date;
import java.time.LocalDate;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/**
 * A date on its way between Spark and a driver, with the day that `java.sql.Date` may not have.
 *
 * <p>Spark's JDBC source passes dates as `java.sql.Date`. Its calendar has no 1582-10-10, and its
 * milliseconds depend on the time zone of the machine.
 */
public final class ExactDate extends Date {
  private static final long serialVersionUID = 1L;

  private final LocalDate day;

  ExactDate(LocalDate day) {
    super(DateTimeUtils.toJavaDate(Math.toIntExact(day.toEpochDay())).getTime());
    this.day = day;
  }

  @Override
  public LocalDate toLocalDate() {
    return day;
  }

  /** Returns the milliseconds from which Spark computes the day. Throws SQLException. */
  @Override
  public long getTime() {
    var time = super.getTime();
    if (DateTimeUtils.fromJavaDate(new Date(time)) == day.toEpochDay()) return time;
    throw Exceptions.raise(ExactValues.notReadable(day));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ExactDate date && date.day.equals(day);
  }

  @Override
  public int hashCode() {
    return day.hashCode();
  }
}
