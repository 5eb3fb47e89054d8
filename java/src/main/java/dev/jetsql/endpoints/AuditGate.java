package dev.jetsql.endpoints;

import dev.jetsql.common.Callers;
import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.StatementObjects;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Records that a statement of Thrift or Spark Connect begins, before Spark analyzes it, if the
 * audit log requires that; throws the refusal of a statement that cannot be recorded. The engine
 * itself records the statements of its other endpoints.
 */
public final class AuditGate extends Rule<LogicalPlan> {
  private static final int BEGUN = 10_000;
  private static final Set<String> begun =
      Collections.synchronizedSet(
          Collections.newSetFromMap(
              new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
                  return size() > BEGUN;
                }
              }));
  private static volatile boolean isRequired;

  private final SparkSession session;

  public AuditGate(SparkSession session) {
    this.session = session;
  }

  /** Sets whether statements are refused that cannot be recorded. */
  static void require(boolean required) {
    isRequired = required;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!isRequired || !Callers.isClient(session)) return plan;
    var key = StatementObjects.key(session);
    if (key == null || begun.contains(key)) return plan;
    EngineCallback.AUDIT_BEGIN.ask(session, Map.of("statement", key));
    begun.add(key);
    return plan;
  }
}
