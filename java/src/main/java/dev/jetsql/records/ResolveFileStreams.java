package dev.jetsql.records;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import scala.PartialFunction;

/** Applies `on.error` to the streams of JSON and CSV tables, after all names are resolved. */
public final class ResolveFileStreams extends Rule<LogicalPlan> {
  private final SparkSession session;

  public ResolveFileStreams(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperators(PartialFunction.fromFunction(this::resolve));
  }

  private LogicalPlan resolve(LogicalPlan node) {
    if (!(node instanceof StreamingRelation relation)) return node;
    var stream = FileStream.of(session, relation.dataSource());
    var onError = stream == null ? null : stream.onError();
    var isChecked = onError != null && !onError.equals(FileStream.PARSE_MODE);
    return isChecked ? stream.checked(relation, onError) : node;
  }
}
