package dev.jetsql.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The clock is set forward in Vilnius on 2018-03-25 at 03:00, and back on 2018-10-28 at 04:00. */
class LocalWindowsTest {
  @ParameterizedTest
  @CsvSource({
    // A day begins at midnight and has 24, 23 or 25 hours.
    "Europe/Vilnius, PT24H, PT24H, 2018-03-24T21:59:59Z, 2018-03-23T22:00:00Z/PT24H",
    "Europe/Vilnius, PT24H, PT24H, 2018-03-24T22:00:00Z, 2018-03-24T22:00:00Z/PT23H",
    "Europe/Vilnius, PT24H, PT24H, 2018-10-28T21:59:59Z, 2018-10-27T21:00:00Z/PT25H",
    "America/New_York, PT24H, PT24H, 2018-07-01T03:59:59Z, 2018-06-30T04:00:00Z/PT24H",
    // The hour that the clock shows twice is in one window, and the clock skips a window.
    "Europe/Vilnius, PT1H, PT1H, 2018-10-28T00:30:00Z, 2018-10-28T00:00:00Z/PT2H",
    "Europe/Vilnius, PT1H, PT1H, 2018-10-28T01:30:00Z, 2018-10-28T00:00:00Z/PT2H",
    "Europe/Vilnius, PT30M, PT30M, 2018-10-28T00:10:00Z, 2018-10-28T00:00:00Z/PT1H30M",
    "Europe/Vilnius, PT1H, PT1H, 2018-10-27T23:30:00Z, 2018-10-27T23:00:00Z/PT1H",
    "Europe/Vilnius, PT4H, PT4H, 2018-03-25T00:30:00Z, 2018-03-24T22:00:00Z/PT3H",
    "Europe/Vilnius, PT90M, PT90M, 2018-03-25T01:10:00Z, 2018-03-25T01:00:00Z/PT30M",
    "Europe/Vilnius, PT2H, PT2H, 2018-03-25T00:30:00Z, 2018-03-25T00:00:00Z/PT1H",
    // Offsets that are no full hours
    "Asia/Kolkata, PT1H, PT1H, 2018-07-01T00:00:00Z, 2018-06-30T23:30:00Z/PT1H",
    "Asia/Kathmandu, PT24H, PT24H, 1969-12-31T18:29:59.999999Z, 1969-12-30T18:30:00Z/PT24H",
    // The day 2011-12-30 is missing in Samoa.
    "Pacific/Apia, PT24H, PT24H, 2011-12-30T10:00:00Z, 2011-12-30T10:00:00Z/PT24H",
    "Pacific/Apia, PT24H, PT24H, 2011-12-30T09:59:59Z, 2011-12-29T10:00:00Z/PT24H",
    "UTC, PT24H, PT24H, 2018-03-25T12:00:00Z, 2018-03-25T00:00:00Z/PT24H",
    // HOP: the latest window first
    "Europe/Vilnius, PT48H, PT24H, 2018-03-25T12:00:00Z, "
        + "2018-03-24T22:00:00Z/PT47H 2018-03-23T22:00:00Z/PT47H",
  })
  void aTimeIsInTheWindowsOfItsClock(
      String zone, Duration size, Duration slide, Instant time, String expected) {
    var windows = new LocalWindows(ZoneId.of(zone), micros(size), micros(slide), 0);
    assertEquals(
        expected,
        windows.of(micros(time)).stream()
            .map(
                each ->
                    instant(each.start())
                        + "/"
                        + Duration.of(each.end() - each.start(), ChronoUnit.MICROS))
            .collect(Collectors.joining(" ")));
  }

  @Test
  void anOffsetMovesTheBeginning() {
    var size = micros(Duration.ofDays(1));
    var windows =
        new LocalWindows(ZoneId.of("Europe/Vilnius"), size, size, micros(Duration.ofHours(6)));
    var noon = windows.of(micros(Instant.parse("2018-03-25T03:00:00Z"))).get(0);
    assertEquals(Instant.parse("2018-03-25T03:00:00Z"), instant(noon.start()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"Europe/Vilnius", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia"})
  void eachWindowHasTheTimesThatTheClockShowsInIt(String name) {
    var zone = ZoneId.of(name);
    var random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      var minutes = 1 + random.nextInt(3000);
      var size = micros(Duration.ofMinutes(minutes));
      var slide = 1 + size / (1 + random.nextInt(4));
      var windows = new LocalWindows(zone, size, slide, random.nextInt(1000));
      var time = Instant.parse("2011-10-01T00:00:00Z").plusSeconds(random.nextInt(10_000_000));
      var clock = clock(time, zone);
      var found = windows.of(micros(time));
      assertTrue(found.size() >= size / slide && found.size() <= size / slide + 1);
      for (var each : found) {
        assertTrue(each.start() <= micros(time) && micros(time) < each.end());
        var begin = clock(instant(each.start()), zone);
        assertTrue(!begin.isAfter(clock) && begin.plus(size, ChronoUnit.MICROS).isAfter(clock));
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "UTC, PT1M, true",
    "+02:00, PT1H, true",
    "+02:00, PT24H, false",
    "Asia/Kolkata, PT1H, false",
    "Europe/Vilnius, PT1M, false",
  })
  void windowsOfUtcAreTheSameOnlyWithoutChangesOfTheClock(
      String zone, Duration size, boolean same) {
    var micros = micros(size);
    assertEquals(same, new LocalWindows(ZoneId.of(zone), micros, micros, 0).areThoseOfUtc());
  }

  private static LocalDateTime clock(Instant time, ZoneId zone) {
    return time.atZone(zone).toLocalDateTime();
  }

  private static long micros(Duration length) {
    return length.toNanos() / 1000;
  }

  private static long micros(Instant time) {
    return ChronoUnit.MICROS.between(Instant.EPOCH, time);
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }
}
