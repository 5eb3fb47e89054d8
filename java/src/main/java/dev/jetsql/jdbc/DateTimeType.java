package dev.jetsql.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Arrays;

/** PostgreSQL's types of dates and times, and how their values are read. */
enum DateTimeType {
  DATE {
    @Override
    LocalDateTime local(ResultSet rows, int column, ZoneId zone) throws SQLException {
      var day = rows.getObject(column, LocalDate.class);
      if (LocalDate.MAX.equals(day)) return INFINITY;
      if (LocalDate.MIN.equals(day)) return NEGATIVE_INFINITY;
      return day == null ? null : day.atStartOfDay();
    }
  },
  TIMESTAMP {
    @Override
    LocalDateTime local(ResultSet rows, int column, ZoneId zone) throws SQLException {
      var local = rows.getObject(column, LocalDateTime.class);
      if (LocalDateTime.MAX.equals(local)) return INFINITY;
      return LocalDateTime.MIN.equals(local) ? NEGATIVE_INFINITY : local;
    }
  },
  TIMESTAMPTZ {
    @Override
    Instant instant(ResultSet rows, int column, ZoneId zone) throws SQLException {
      var moment = rows.getObject(column, OffsetDateTime.class);
      if (moment == null) return null;
      if (moment.equals(OffsetDateTime.MAX)) return INFINITY.toInstant(ZoneOffset.UTC);
      if (moment.equals(OffsetDateTime.MIN)) return NEGATIVE_INFINITY.toInstant(ZoneOffset.UTC);
      return moment.toInstant();
    }
  },
  /** Spark reads a time as a timestamp of 1970-01-01 unless its type TIME is enabled. */
  TIME {
    @Override
    LocalDateTime local(ResultSet rows, int column, ZoneId zone) throws SQLException {
      var time = rows.getObject(column, LocalTime.class);
      if (time == null) return null;
      return isMidnight(time) ? EPOCH.plusDays(1).atStartOfDay() : EPOCH.atTime(time);
    }
  },
  TIMETZ {
    @Override
    Instant instant(ResultSet rows, int column, ZoneId zone) throws SQLException {
      var time = rows.getObject(column, OffsetTime.class);
      if (time == null) return null;
      if (!isMidnight(time.toLocalTime())) return time.atDate(EPOCH).toInstant();
      var offset = rows.getString(column).substring(MIDNIGHT.length()); // the driver loses it
      return EPOCH.plusDays(1).atStartOfDay().toInstant(ZoneOffset.of(offset));
    }
  };

  private static final LocalDate EPOCH = LocalDate.EPOCH;
  private static final String MIDNIGHT = "24:00:00";
  // Spark's JDBC source has these values for `infinity` and `-infinity`, which Spark does not know.
  private static final LocalDateTime INFINITY =
      LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_000);
  private static final LocalDateTime NEGATIVE_INFINITY = LocalDateTime.of(1, 1, 1, 0, 0);

  /** Returns the type with a name of PostgreSQL, or null for all other types. */
  static DateTimeType of(String name) {
    return Arrays.stream(values())
        .filter(type -> type.name().equalsIgnoreCase(name))
        .findFirst()
        .orElse(null);
  }

  /** Returns the local date and time of a value in the session's time zone; null for NULL. */
  LocalDateTime local(ResultSet rows, int column, ZoneId zone) throws SQLException {
    var instant = instant(rows, column, zone);
    return instant == null ? null : LocalDateTime.ofInstant(instant, zone);
  }

  /** Returns the moment of a value; null for NULL. */
  Instant instant(ResultSet rows, int column, ZoneId zone) throws SQLException {
    var local = local(rows, column, zone);
    return local == null ? null : local.atZone(zone).toInstant();
  }

  /** Returns whether the driver has read `24:00`. */
  static boolean isMidnight(LocalTime time) {
    return time.equals(LocalTime.MAX);
  }
}
