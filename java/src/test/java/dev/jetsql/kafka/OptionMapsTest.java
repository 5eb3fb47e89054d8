package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OptionMapsTest {
  private final Map<String, String> options = new HashMap<>(Map.of("startingOffsets", "latest"));

  @Test
  void findsNamesInAnyCase() {
    assertEquals("startingOffsets", OptionMaps.find(options, "STARTINGOFFSETS"));
    assertEquals("latest", OptionMaps.get(options, "startingoffsets"));
    assertNull(OptionMaps.find(options, "starting"));
    assertNull(OptionMaps.get(options, "starting"));
  }

  @Test
  void removesNamesInAnyCase() {
    OptionMaps.remove(options, "topic");
    assertEquals(1, options.size());
    OptionMaps.remove(options, "STARTINGoffsets");
    assertEquals(Map.of(), options);
  }

  @Test
  void addsOnlyMissingDefaults() {
    OptionMaps.putMissing(options, Map.of("STARTINGOFFSETS", "earliest", "topic", "t"));
    assertEquals(Map.of("startingOffsets", "latest", "topic", "t"), options);
  }
}
