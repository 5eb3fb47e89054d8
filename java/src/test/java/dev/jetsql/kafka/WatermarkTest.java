package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class WatermarkTest {
  @Test
  void parsesColumnAndDelay() {
    Watermark watermark = Watermark.parse(" ts delay of INTERVAL 5 SECONDS ");
    assertEquals(new Watermark("ts", "INTERVAL 5 SECONDS"), watermark);
    assertEquals(5000, watermark.delayMillis());
  }

  @Test
  void removesBackticks() {
    assertEquals("my `ts`", Watermark.parse("`my ``ts``` DELAY OF 1 minute").column());
  }

  @Test
  void refusesOtherTexts() {
    assertNull(Watermark.parse("ts"));
    assertNull(Watermark.parse("ts DELAY 5 SECONDS"));
    assertThrows(Exception.class, () -> Watermark.parse("ts DELAY OF never").delayMillis());
  }
}
