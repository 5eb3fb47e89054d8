package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Map;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.Test;

class EarlyEndingSourcesTest {
  @Test
  void restoresLongFetchesOfATableWithShortOnes() {
    var options =
        new CaseInsensitiveStringMap(
            Map.of("jetsql.short.wait", "true", "kafka.fetch.max.wait.ms", "5"));
    assertEquals("500", EarlyEndingSources.withLongFetches(options).get("kafka.fetch.max.wait.ms"));
  }

  @Test
  void keepsTheFetchesThatATableSets() {
    var options = new CaseInsensitiveStringMap(Map.of("kafka.fetch.max.wait.ms", "5"));
    assertSame(options, EarlyEndingSources.withLongFetches(options));
  }
}
