package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.IntegralType;
import scala.Option;

/**
 * Replaces a filter on a rank, such as `row_number() OVER (PARTITION BY k ORDER BY t) &lt;= 10`, by
 * an aggregate that keeps the first rows of each key.
 *
 * <p>QUALIFY is a filter on a rank, too. In append mode, the first row by the column of the
 * watermark is Spark's DeduplicateWithinWatermark.
 */
final class TopRows {
  private TopRows() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    return Plans.transformStreams(
        query, node -> node instanceof Filter filter ? rewrite(filter, mode, uses) : node);
  }

  private static LogicalPlan rewrite(Filter filter, OutputMode mode, Uses uses) {
    for (var condition : Plans.conjuncts(filter.condition())) {
      var bound = RankBound.of(condition);
      if (bound == null) continue;
      var below = replaceWindow(filter.child(), bound, mode, uses);
      if (below != null) return new Filter(filter.condition(), below);
    }
    return filter;
  }

  /** A condition that holds only for ranks up to a limit. */
  private record RankBound(Attribute rank, int limit) {
    /** Returns the bound of a comparison of a column with an integer, or null. */
    static RankBound of(Expression condition) {
      if (condition instanceof LessThanOrEqual c) return of(c.left(), c.right(), 0);
      if (condition instanceof LessThan c) return of(c.left(), c.right(), -1);
      if (condition instanceof GreaterThanOrEqual c) return of(c.right(), c.left(), 0);
      if (condition instanceof GreaterThan c) return of(c.right(), c.left(), -1);
      if (!(condition instanceof EqualTo c)) return null;
      var bound = of(c.left(), c.right(), 0);
      return bound == null ? of(c.right(), c.left(), 0) : bound;
    }

    private static RankBound of(Expression rank, Expression limit, int offset) {
      var column = rank instanceof Cast cast ? cast.child() : rank;
      var isInteger = limit.foldable() && limit.dataType() instanceof IntegralType;
      if (!(column instanceof Attribute attribute) || !isInteger) return null;
      if (!(rank.dataType() instanceof IntegralType)) return null;
      var value = limit.eval(null);
      if (value == null) return null;
      long number = ((Number) value).longValue() + offset;
      return number < 1 || number > Integer.MAX_VALUE
          ? null
          : new RankBound(attribute, (int) number);
    }

    RankBound withRank(Attribute other) {
      return new RankBound(other, limit);
    }
  }

  /** Returns the plan with the window of the rank replaced, or null if there is none. */
  private static LogicalPlan replaceWindow(
      LogicalPlan node, RankBound bound, OutputMode mode, Uses uses) {
    if (node instanceof Window window) return replace(window, bound, mode, uses);
    if (!(node instanceof Project project)) return null;
    var below = bound;
    for (var item : Plans.list(project.projectList())) {
      if (!(item instanceof Alias alias) || !alias.exprId().equals(bound.rank().exprId())) continue;
      if (!(alias.child() instanceof Attribute renamed)) return null;
      below = bound.withRank(renamed);
    }
    var child = replaceWindow(project.child(), below, mode, uses);
    return child == null ? null : new Project(project.projectList(), child);
  }

  private static LogicalPlan replace(Window window, RankBound bound, OutputMode mode, Uses uses) {
    if (window.windowExpressions().size() != 1) return null;
    if (!(window.windowExpressions().head() instanceof Alias rank)
        || !rank.exprId().equals(bound.rank().exprId())
        || !(rank.child() instanceof WindowExpression over)) return null;
    var function = RankFunction.of(over.windowFunction());
    if (function == null || window.orderSpec().isEmpty()) return null;
    var appends = mode.equals(OutputMode.Append());
    // Peers leave the first ranks when a lower row arrives, and no update deletes them.
    if (mode.equals(OutputMode.Update()) && !function.isRowNumber()) return null;
    // Above an aggregate in complete mode, the window runs in the batch.
    if (!appends && Plans.aggregatesStream(window.child())) return null;
    var shown = function.sql() + " <= " + bound.limit();
    if (appends && bound.limit() == 1 && isFirstByWatermark(window) && function.isRowNumber()) {
      uses.add(
          "%s keeps the first row that arrives for each (%s) within the watermark's delay"
              .formatted(shown, Plans.texts(window.partitionSpec())),
          "The job keeps the first row that arrives for each key, and forgets the key once the"
              + " watermark has passed the row.");
      return firstRows(window, rank);
    }
    uses.add(
        "%s is kept as the top %d of each (%s); state: %s for each key"
            .formatted(
                shown,
                bound.limit(),
                Plans.texts(window.partitionSpec()),
                function.describeRows(bound.limit())));
    return topRows(window, rank, function, bound.limit());
  }

  private static boolean isFirstByWatermark(Window window) {
    if (window.orderSpec().size() != 1 || window.partitionSpec().isEmpty()) return false;
    var by = window.orderSpec().head();
    var hasAttributes =
        Plans.list(window.partitionSpec()).stream().allMatch(Attribute.class::isInstance);
    var hasTime = Plans.list(window.partitionSpec()).stream().anyMatch(Plans::hasWatermark);
    return by.direction() == Ascending$.MODULE$
        && Plans.hasWatermark(by.child())
        && hasAttributes
        && !hasTime;
  }

  private static LogicalPlan firstRows(Window window, Alias rank) {
    var keys = Plans.list(window.partitionSpec()).stream().map(Attribute.class::cast).toList();
    var rows = SparkCalls.firstRows(Sequences.of(keys), window.child());
    var columns = new ArrayList<NamedExpression>(Plans.list(rows.output()));
    columns.add(Plans.renamed(Literal$.MODULE$.apply(1), rank));
    return new Project(Sequences.of(columns), rows);
  }

  private static LogicalPlan topRows(Window window, Alias rank, RankFunction function, int limit) {
    var keys =
        Plans.list(window.partitionSpec()).stream()
            .filter(AttributeReference.class::isInstance)
            .map(AttributeReference.class::cast)
            .toList();
    var keyIds = keys.stream().map(Attribute::exprId).toList();
    var columns = Plans.list(window.child().output());
    var values = columns.stream().filter(each -> !keyIds.contains(each.exprId())).toList();
    var orderBy = Plans.list(window.orderSpec());
    // Without keys, Spark's aggregate would return a row for an empty input.
    var isFirstRow = limit == 1 && function.isRowNumber() && !window.partitionSpec().isEmpty();
    var first = isFirstRow ? FirstRowAggregate.of(values, orderBy) : null;
    if (first != null) {
      var groups = groups(window, keys, first);
      return fields(groups, columns, values, rank);
    }
    var aggregate = new TopRowsAggregate(values, orderBy, function, limit);
    var groups = groups(window, keys, aggregate);
    return explode(groups, groups.output().last(), columns, values, rank, aggregate);
  }

  /** Returns the groups of a window's keys: the columns among them, and what the function keeps. */
  private static Aggregate groups(
      Window window, List<AttributeReference> keys, AggregateFunction function) {
    var grouped = new ArrayList<NamedExpression>(keys);
    grouped.add(
        Plans.alias(
            AggregateExpression$.MODULE$.apply(function, Complete$.MODULE$, false, Option.empty()),
            "top"));
    return new Aggregate(
        window.partitionSpec(), Sequences.of(grouped), window.child(), Option.empty());
  }

  /** Returns the only row of each group, under the names and ids that it had below the window. */
  private static LogicalPlan fields(
      Aggregate groups, List<Attribute> columns, List<Attribute> values, Alias rank) {
    var top = groups.output().last();
    var all = new ArrayList<NamedExpression>();
    for (var column : columns) {
      int field = values.indexOf(column);
      if (field < 0) {
        all.add(column);
      } else {
        Expression value = new GetStructField(top, field, Option.empty());
        if (!column.nullable()) value = new KnownNotNull(value);
        all.add(
            new Alias(
                value,
                column.name(),
                column.exprId(),
                column.qualifier(),
                Option.apply(column.metadata()), // it has the watermark
                Sequences.of()));
      }
    }
    all.add(Plans.renamed(Literal$.MODULE$.apply(1), rank));
    return new Project(Sequences.of(all), groups);
  }

  /** Returns the kept rows as rows, under the names and ids that they had below the window. */
  private static LogicalPlan explode(
      Aggregate groups,
      Attribute top,
      List<Attribute> columns,
      List<Attribute> values,
      Alias rank,
      TopRowsAggregate aggregate) {
    var fields = aggregate.rowType().fields();
    var outputs = new ArrayList<Attribute>();
    for (int i = 0; i < values.size(); i++) {
      var value = values.get(i);
      outputs.add(
          new AttributeReference(
              value.name(),
              value.dataType(),
              fields[i].nullable(),
              value.metadata(),
              value.exprId(),
              value.qualifier()));
    }
    var last = fields[fields.length - 1];
    outputs.add(
        new AttributeReference(
            rank.name(), last.dataType(), false, rank.metadata(), rank.exprId(), rank.qualifier()));
    var rows =
        new Generate(
            new Inline(top), Sequences.of(), false, Option.empty(), Sequences.of(outputs), groups);
    var all = new ArrayList<NamedExpression>(columns);
    all.add(outputs.get(outputs.size() - 1));
    return new Project(Sequences.of(all), rows);
  }
}
