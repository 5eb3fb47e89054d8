package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SourceRateLimitsTest {
  @Test
  void limitsATopicWithoutLimit() {
    assertEquals(
        Map.of("topic", "t", "maxOffsetsPerTrigger", "50000"),
        SourceRateLimits.kafkaOptions(Map.of("topic", "t")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"maxOffsetsPerTrigger", "MAXOFFSETSPERTRIGGER"})
  void keepsTheLimitOfATopic(String option) {
    assertEquals(Map.of(option, "7"), SourceRateLimits.kafkaOptions(Map.of(option, "7")));
  }

  @Test
  void limitsTheBytesOfFilesAndAcceptsOldOnes() {
    assertEquals(
        Map.of("path", "/p", "maxBytesPerTrigger", "16777216", "maxFileAge", "3650000d"),
        SourceRateLimits.fileOptions(Map.of("path", "/p")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"maxFilesPerTrigger", "maxfilespertrigger", "maxBytesPerTrigger"})
  void keepsTheLimitOfFiles(String option) {
    assertEquals(
        Map.of(option, "7", "maxFileAge", "3650000d"),
        SourceRateLimits.fileOptions(Map.of(option, "7")));
  }

  @Test
  void keepsTheAgeOfFiles() {
    assertEquals(
        Map.of("maxfileage", "1d", "maxBytesPerTrigger", "16777216"),
        SourceRateLimits.fileOptions(Map.of("maxfileage", "1d")));
  }
}
