package dev.jetsql.rewrites.ttl;

import dev.jetsql.plans.RuleProcessor;
import java.time.Duration;
import org.apache.spark.sql.streaming.TTLConfig;

/** Keeps state that Spark removes when its time to live is over. */
abstract class TtlProcessor extends RuleProcessor {
  private static final long serialVersionUID = 1;

  private final long millis;

  /**
   * Creates a processor.
   *
   * @param millis the time to live
   */
  TtlProcessor(long millis) {
    this.millis = millis;
  }

  TTLConfig ttl() {
    return new TTLConfig(Duration.ofMillis(millis));
  }

  @Override
  public String keptForEver() {
    return null;
  }
}
