package dev.jetsql.jdbc;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.SignStyle;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAccessor;

/**
 * Writes dates and timestamps as PostgreSQL reads them.
 *
 * <p>Each text has the local date and time in the session's time zone, and the offset of the zone.
 * PostgreSQL reads the text as the type of the column: a `timestamptz` takes the offset into
 * account, and a `timestamp`, `date` or `time` ignores it. Thus no time zone of a machine or of the
 * connection has an effect.
 */
final class DateTimeText {
  private static final DateTimeFormatter DATE =
      new DateTimeFormatterBuilder()
          .appendValue(ChronoField.YEAR_OF_ERA, 4, 10, SignStyle.NEVER)
          .appendPattern("-MM-dd")
          .toFormatter();
  private static final DateTimeFormatter TIMESTAMP =
      new DateTimeFormatterBuilder().append(DATE).appendPattern(" HH:mm:ss.SSSSSS").toFormatter();

  private DateTimeText() {}

  static String of(LocalDate date) {
    return DATE.format(date) + era(date);
  }

  /** A time in a gap of the zone gets the offset before the gap, as in Spark's casts. */
  static String of(LocalDateTime local, ZoneId zone) {
    return of(local, zone.getRules().getOffset(local));
  }

  static String of(LocalDateTime local, ZoneOffset offset) {
    var suffix = offset.getTotalSeconds() == 0 ? "+00:00" : offset.getId();
    return TIMESTAMP.format(local) + suffix + era(local);
  }

  private static String era(TemporalAccessor date) {
    return date.get(ChronoField.YEAR) > 0 ? "" : " BC";
  }
}
