package dev.jetsql.rewrites.ttl;

import dev.jetsql.plans.RuleProcessor;
import java.time.Duration;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.StructType;

/** Keeps state that Spark removes when its time to live is over. */
abstract class TtlProcessor extends RuleProcessor {
  private static final long serialVersionUID = 1;

  private final long millis;

  /**
   * Creates a processor.
   *
   * @param millis the time to live
   * @param stateExpressions what the state depends on
   * @param kept the types of the rows that the state keeps
   */
  TtlProcessor(long millis, List<? extends Expression> stateExpressions, List<StructType> kept) {
    super(stateExpressions, kept);
    this.millis = millis;
  }

  TTLConfig ttl() {
    return new TTLConfig(Duration.ofMillis(millis));
  }

  @Override
  public String keptForEver() {
    return null;
  }

  @Override
  public boolean isByClock() {
    return true;
  }
}
