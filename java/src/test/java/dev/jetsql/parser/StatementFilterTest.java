package dev.jetsql.parser;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StatementFilterTest {
  private final StatementFilter filter = new StatementFilter("\\s*(?i:CREATE\\s+JOB|SHOW)\\b");

  @ParameterizedTest
  @CsvSource({
    "create job j AS SELECT 1, true",
    "'  \n CREATE\tJOB j', true",
    "'\u00a0CREATE\u00a0JOB j', true",
    "SHOWN, false",
    "SHOWé, false",
    "SELECT 'SHOW', false",
    "'', false",
  })
  void onlyTheBeginningIsLookedAt(String text, boolean matches) {
    assertEquals(matches, filter.matches(text));
  }
}
