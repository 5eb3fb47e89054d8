package dev.jetsql.rewrites.ttl;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.AggregateBuffers;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.JoinBounds;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Replaces operators whose state no watermark removes by operators that forget it when its time to
 * live is over: DISTINCT, aggregates in update mode, and inner joins of two streams.
 *
 * @param millis the time to live
 */
public record StateTtl(long millis) {
  /** The name of the rule, which jobs store. */
  public static final String NAME = "state time to live";

  /** The version whose state has keys in one form. */
  private static final int EQUAL_KEYS = 2;

  /** Applies the rule, see {@link dev.jetsql.plans.RewriteRule.Rewrite}. */
  public LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    if (mode.equals(OutputMode.Complete())) return query;
    if (mode.equals(OutputMode.Update()) && query.exists(StateTtl::isAboveAggregate)) return query;
    return Plans.transformStreams(
        query,
        node -> {
          if (node instanceof Distinct distinct) return distinct(distinct, mode, uses);
          if (node instanceof Aggregate aggregate) return aggregate(aggregate, mode, uses);
          return node instanceof Join join ? join(join, mode, uses) : node;
        });
  }

  private static int version(Seq<? extends Expression> keys) {
    return EqualKey.hasSeveralForms(keys) ? EQUAL_KEYS : 0;
  }

  /** Returns whether a node would keep a group again with each update of an aggregate below it. */
  private static boolean isAboveAggregate(LogicalPlan node) {
    return node.isStreaming()
        && Plans.keepsState(node)
        && Plans.list(node.children()).stream().anyMatch(Plans::aggregatesStream);
  }

  private LogicalPlan distinct(Distinct distinct, OutputMode mode, Uses uses) {
    var child = distinct.child();
    if (Plans.hasWatermark(child.output())) return distinct;
    uses.add(
        "DISTINCT forgets a row %d ms after it first arrived".formatted(millis),
        "A row that arrives again after the time to live is returned again.",
        version(child.output()));
    var keys = IntStream.range(0, child.output().size()).boxed().toList();
    var processor = new DistinctProcessor(millis, List.copyOf(Plans.list(child.output())));
    return processor.over(
        Plans.withUniqueNames(child), keys, child.output(), TimeMode.ProcessingTime(), mode);
  }

  private LogicalPlan aggregate(Aggregate written, OutputMode mode, Uses uses) {
    var aggregate = (Aggregate) Plans.withoutReplaceable(written);
    var parts = PhysicalAggregation$.MODULE$.unapply(aggregate);
    if (!mode.equals(OutputMode.Update())
        || aggregate.groupingExpressions().isEmpty()
        || Plans.aggregatesStream(aggregate.child())
        || parts.isEmpty()
        || !Plans.list(parts.get()._2()).stream().allMatch(AggregateBuffers::isPossible))
      return written;
    var groups = Plans.list(parts.get()._1());
    if (groups.stream().anyMatch(StateTtl::hasWatermark)) return written;
    uses.add(
        "each group by %s is forgotten %d ms after its last row"
            .formatted(Plans.texts(aggregate.groupingExpressions()), millis),
        "The aggregates of a group begin anew with a row that arrives after the time to live.",
        version(aggregate.groupingExpressions()));
    var calls = Plans.list(parts.get()._2()).stream().map(AggregateExpression.class::cast).toList();
    var child = aggregate.child();
    var columns = new ArrayList<>(groups);
    columns.addAll(Plans.list(child.output()));
    var rows = new Project(Sequences.of(columns), child);
    var processor =
        new AggregateProcessor(
            millis,
            groups.size(),
            new AggregateBuffers(calls, rows.output()),
            Stream.<Expression>concat(groups.stream().map(Expression.class::cast), calls.stream())
                .toList(),
            Plans.withUniqueNames(rows).schema());
    var output = new ArrayList<Attribute>();
    groups.forEach(group -> output.add(group.toAttribute()));
    calls.forEach(call -> output.add(call.resultAttribute()));
    var keys = IntStream.range(0, groups.size()).boxed().toList();
    return new Project(
        parts.get()._3(),
        processor.over(
            Plans.withUniqueNames(rows),
            keys,
            Sequences.of(output),
            TimeMode.ProcessingTime(),
            mode));
  }

  private LogicalPlan join(Join join, OutputMode mode, Uses uses) {
    var parts = ExtractEquiJoinKeys$.MODULE$.unapply(join);
    if (!join.joinType().equals(Inner$.MODULE$)
        || !join.left().isStreaming()
        || !join.right().isStreaming()
        || parts.isEmpty()) return join;
    var leftKeys = Plans.list(parts.get()._2());
    var rightKeys = Plans.list(parts.get()._3());
    if (JoinBounds.of(join, parts.get()._2(), parts.get()._3()).areBoth()) return join;
    uses.add(
        "the join on %s forgets each row %d ms after it arrived"
            .formatted(Plans.texts(parts.get()._2()), millis),
        "Rows are joined if they arrive within the time to live.",
        version(parts.get()._2()));
    var first = Plans.struct(join.left().output());
    var second = Plans.struct(join.right().output());
    var rows =
        new Union(
            Sequences.of(
                side(join.left(), leftKeys, first, new Literal(null, second.dataType())),
                side(join.right(), rightKeys, new Literal(null, first.dataType()), second)),
            false,
            false);
    var expressions = new ArrayList<>(leftKeys);
    expressions.addAll(rightKeys);
    expressions.addAll(Plans.list(join.left().output()));
    expressions.addAll(Plans.list(join.right().output()));
    var processor =
        new JoinProcessor(
            millis,
            leftKeys.size(),
            (StructType) first.dataType(),
            (StructType) second.dataType(),
            expressions);
    var keys = IntStream.range(0, leftKeys.size()).boxed().toList();
    var joined = processor.over(rows, keys, join.output(), TimeMode.ProcessingTime(), mode);
    var condition = parts.get()._4();
    return condition.isDefined() ? new Filter(condition.get(), joined) : joined;
  }

  /** Returns the rows of one stream whose keys are not NULL: the keys, and a struct for a side. */
  private static LogicalPlan side(
      LogicalPlan rows, List<Expression> keys, Expression first, Expression second) {
    var columns = new ArrayList<NamedExpression>();
    for (var key : keys) columns.add(Plans.alias(key, "k" + columns.size()));
    columns.add(Plans.alias(first, "first"));
    columns.add(Plans.alias(second, "second"));
    LogicalPlan side = new Project(Sequences.of(columns), rows);
    for (int i = 0; i < keys.size(); i++)
      side = new Filter(new IsNotNull((Expression) side.output().apply(i)), side);
    return side;
  }

  private static boolean hasWatermark(NamedExpression group) {
    return ((Expression) group)
        .exists(part -> part instanceof Attribute column && Plans.hasWatermark(column));
  }
}
