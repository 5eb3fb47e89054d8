package dev.jetsql.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DateTimeTextTest {
  @ParameterizedTest
  @CsvSource({
    "2018-03-25T03:17:17, Europe/Vilnius, 2018-03-25 03:17:17.000000+02:00",
    "2018-10-28T03:30:00.000001, Europe/Vilnius, 2018-10-28 03:30:00.000001+03:00",
    "1500-01-01T00:00, Europe/Vilnius, 1500-01-01 00:00:00.000000+01:41:16",
    "1582-10-10T00:00, UTC, 1582-10-10 00:00:00.000000+00:00",
    "-0043-03-15T12:00, UTC, 0044-03-15 12:00:00.000000+00:00 BC",
    "+10000-01-01T00:00, UTC, 10000-01-01 00:00:00.000000+00:00",
  })
  void aTextHasTheLocalTimeAndTheOffsetOfTheZone(String local, String zone, String text) {
    assertEquals(text, DateTimeText.of(LocalDateTime.parse(local), ZoneId.of(zone)));
  }

  @ParameterizedTest
  @CsvSource({"0000-12-31, 0001-12-31 BC", "1582-10-10, 1582-10-10", "+12345-01-01, 12345-01-01"})
  void aDateHasAnEra(String day, String text) {
    assertEquals(text, DateTimeText.of(LocalDate.parse(day)));
  }
}
