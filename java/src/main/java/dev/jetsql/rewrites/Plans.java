package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Helpers for Spark's logical plans, which are Scala's classes. */
final class Plans {
  /** The metadata of a column that a watermark belongs to: the delay in milliseconds. */
  static final String WATERMARK = "spark.watermarkDelayMs";

  private Plans() {}

  static <T> List<T> list(Seq<T> values) {
    return CollectionConverters.asJava(values);
  }

  static Alias alias(Expression value, String name, ExprId id) {
    return new Alias(value, name, id, Sequences.of(), Option.empty(), Sequences.of());
  }

  /** Returns the expression under the name and the id of another one. */
  static Alias renamed(Expression value, NamedExpression as) {
    return new Alias(value, as.name(), as.exprId(), as.qualifier(), Option.empty(), Sequences.of());
  }

  /** Applies a function to the streaming nodes, first to the children of a node. */
  static LogicalPlan transformStreams(
      LogicalPlan plan, Function<LogicalPlan, LogicalPlan> function) {
    return plan.transformUp(PartialFunctions.of(LogicalPlan::isStreaming, function));
  }

  static boolean aggregatesStream(LogicalPlan plan) {
    return plan.exists(node -> node instanceof Aggregate && node.isStreaming());
  }

  /** Returns the node's text in SQL, without qualifiers and back quotes. */
  static String text(Expression expression) {
    return org.apache.spark.sql.catalyst.util.package$.MODULE$.toPrettySQL(expression, true);
  }

  static String texts(Seq<? extends Expression> expressions) {
    return list(expressions).stream().map(Plans::text).collect(Collectors.joining(", "));
  }
}
