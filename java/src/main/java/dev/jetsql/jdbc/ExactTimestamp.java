package dev.jetsql.jdbc;

import dev.jetsql.common.Exceptions;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.Objects;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/**
 * A timestamp on its way between Spark and a driver: a moment, a local date and time, or both.
 *
 * <p>Spark's JDBC source passes timestamps as `java.sql.Timestamp`, whose local date and time
 * depends on the time zone of the machine. There, some local times do not exist.
 */
public final class ExactTimestamp extends Timestamp {
  private static final long serialVersionUID = 1L;

  private final Instant instant;
  private final LocalDateTime local;

  /**
   * Creates a value from its moment, null for a TIMESTAMP_NTZ that Spark writes; and from its local
   * date and time, null for a TIMESTAMP that Spark writes.
   */
  ExactTimestamp(Instant instant, LocalDateTime local) {
    super(0);
    this.instant = instant;
    this.local = local;
    if (instant == null) return;
    var inherited = DateTimeUtils.toJavaTimestamp(DateTimeUtils.instantToMicros(instant));
    setTime(inherited.getTime());
    setNanos(inherited.getNanos());
  }

  boolean isLocal() {
    return instant == null;
  }

  @Override
  public Instant toInstant() {
    return instant;
  }

  @Override
  public LocalDateTime toLocalDateTime() {
    return local;
  }

  /** Returns the milliseconds from which Spark computes the moment. Throws SQLException. */
  @Override
  public long getTime() {
    var inherited = new Timestamp(super.getTime());
    inherited.setNanos(getNanos());
    if (instant == null
        || DateTimeUtils.fromJavaTimestamp(inherited) == DateTimeUtils.instantToMicros(instant))
      return inherited.getTime();
    throw Exceptions.raise(ExactValues.notReadable(instant));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ExactTimestamp timestamp
        && Objects.equals(timestamp.instant, instant)
        && Objects.equals(timestamp.local, local);
  }

  @Override
  public int hashCode() {
    return Objects.hash(instant, local);
  }
}
