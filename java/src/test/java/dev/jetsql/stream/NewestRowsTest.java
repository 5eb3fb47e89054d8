package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class NewestRowsTest {
  @Test
  void aTopicIsReadFromATimeOnInSmallBatches() {
    assertEquals(
        Map.of(
            "subscribe", "t",
            "startingTimestamp", "7",
            "startingOffsetsByTimestampStrategy", "latest",
            "maxOffsetsPerTrigger", "500"),
        NewestRows.topicOptions(
            Map.of("subscribe", "t", "startingoffsets", "earliest", "maxOffsetsPerTrigger", "9"),
            7L));
  }

  @Test
  void filesAreReadOneByOneFromTheNewest() {
    assertEquals(
        Map.of("path", "/p", "maxFilesPerTrigger", "1", "latestFirst", "true"),
        NewestRows.fileOptions(Map.of("path", "/p", "maxBytesPerTrigger", "9g")));
  }
}
