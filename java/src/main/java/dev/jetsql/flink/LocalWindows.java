package dev.jetsql.flink;

import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;

/**
 * Windows that begin at times of the clock in a zone, as Flink's do over timestamps with a local
 * time zone: those of a day begin at midnight, also when the day has 23 or 25 hours. All lengths
 * are microseconds.
 *
 * @param zone the time zone
 * @param size the length of a window on the clock
 * @param slide the time from the beginning of a window to that of the next one
 * @param offset the time from 1970-01-01 00:00:00 on the clock to the beginning of a window
 */
record LocalWindows(ZoneId zone, long size, long slide, long offset) implements Serializable {
  private static final long SECOND = 1_000_000;

  /** A window by its bounds, microseconds since the epoch. The end is the first time after it. */
  record Bounds(long start, long end) {}

  /** Returns whether windows that begin at times in UTC are the same. */
  boolean areThoseOfUtc() {
    var rules = zone.getRules();
    if (!rules.isFixedOffset()) return false;
    return Math.floorMod(rules.getOffset(Instant.EPOCH).getTotalSeconds() * SECOND, slide) == 0;
  }

  /** Returns the windows of a time in microseconds since the epoch, the latest first. */
  List<Bounds> of(long micros) {
    var rules = zone.getRules();
    var clock = micros + offsetAt(rules, micros);
    var windows = new ArrayList<Bounds>();
    for (var start = clock - Math.floorMod(clock - offset, slide);
        start > clock - size;
        start -= slide) {
      // The clock shows the times of an hour twice when it is set back, and both are in the window.
      windows.add(new Bounds(first(rules, start), last(rules, start + size - 1) + 1));
    }
    return windows;
  }

  private static long offsetAt(ZoneRules rules, long micros) {
    var instant = Instant.ofEpochSecond(Math.floorDiv(micros, SECOND));
    return rules.getOffset(instant).getTotalSeconds() * SECOND;
  }

  /** Returns when the clock first shows a time; for one that it skips, when it skips it. */
  private static long first(ZoneRules rules, long clock) {
    var offsets = rules.getValidOffsets(dateTime(clock));
    return offsets.isEmpty() ? skipped(rules, clock) : at(offsets.get(0), clock);
  }

  /** Returns when the clock last shows a time; for one that it skips, the time before. */
  private static long last(ZoneRules rules, long clock) {
    var offsets = rules.getValidOffsets(dateTime(clock));
    return offsets.isEmpty()
        ? skipped(rules, clock) - 1
        : at(offsets.get(offsets.size() - 1), clock);
  }

  private static long skipped(ZoneRules rules, long clock) {
    return rules.getTransition(dateTime(clock)).toEpochSecond() * SECOND;
  }

  private static long at(ZoneOffset offset, long clock) {
    return clock - offset.getTotalSeconds() * SECOND;
  }

  private static LocalDateTime dateTime(long clock) {
    return LocalDateTime.ofEpochSecond(Math.floorDiv(clock, SECOND), 0, ZoneOffset.UTC)
        .plus(Math.floorMod(clock, SECOND), ChronoUnit.MICROS);
  }
}
