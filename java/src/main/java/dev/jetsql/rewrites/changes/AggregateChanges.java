package dev.jetsql.rewrites.changes;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.AggregateBuffers;
import dev.jetsql.plans.CurrentTimes;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.SessionWindow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Plans whose rows are changes, of aggregates and joins: the last column is the sign of a row, -1
 * for a row that an earlier batch has returned and that is no longer there.
 */
final class AggregateChanges {
  private static final String SIGN = "__jetsql_sign";

  private final Uses uses;

  AggregateChanges(Uses uses) {
    this.uses = uses;
  }

  /** A plan cannot run over changes; the message is the reason, a phrase. */
  static final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final boolean ofAggregates;

    Refusal(String reason) {
      this(reason, true);
    }

    private Refusal(String reason, boolean ofAggregates) {
      super(reason, null, false, false);
      this.ofAggregates = ofAggregates;
    }

    /** Returns the refusal of a query that is no aggregate over aggregates. */
    static Refusal ofOther(LogicalPlan node) {
      return new Refusal(node.nodeName() + " is no aggregate over aggregates", false);
    }

    boolean ofAggregates() {
      return ofAggregates;
    }
  }

  /**
   * The groups of an aggregate.
   *
   * @param plan the columns of the aggregate, missing grouping columns, and the number of rows
   * @param keys the indexes of the grouping columns
   */
  record Groups(LogicalPlan plan, List<Integer> keys) {
    Attribute count() {
      return plan.output().last();
    }
  }

  /** Returns the changes of the rows of a plan. Throws Refusal. */
  LogicalPlan of(LogicalPlan node) {
    if (!hasChanges(node)) return ofRows(node);
    if (node instanceof Aggregate aggregate)
      return hasChanges(aggregate.child())
          ? changes(aggregate, groups(aggregate))
          : changes(aggregate, firstGroups(aggregate));
    if (node instanceof Join join) return ofJoin(join);
    checkStable(node);
    if (node instanceof Project project) {
      var below = of(project.child());
      return new Project(with(Plans.list(project.projectList()), sign(below)), below);
    }
    if (node instanceof Filter filter) return new Filter(filter.condition(), of(filter.child()));
    if (node instanceof Generate generate) return ofGenerated(generate);
    if (node instanceof Expand expand) return ofExpanded(expand);
    if (node instanceof Union union) {
      var all = Plans.list(union.children()).stream().map(this::of).toList();
      return new Union(Sequences.of(all), false, false);
    }
    throw new Refusal(node.nodeName() + " cannot take back rows");
  }

  /**
   * Returns whether rows of a plan are taken back: of an aggregate, or of a join without bounds.
   */
  static boolean hasChanges(LogicalPlan plan) {
    return Plans.aggregatesStream(plan) || plan.exists(AggregateChanges::isJoinWithChanges);
  }

  private static boolean isJoinWithChanges(LogicalPlan node) {
    return isJoin(node) && Plans.sparkReason(node, OutputMode.Append()) != null;
  }

  private static boolean isJoin(LogicalPlan node) {
    return node instanceof Join join
        && join.isStreaming()
        && Plans.keepsState(join)
        && JoinShape.of(join.joinType()) != null;
  }

  /** Returns whether a plan joins rows that are taken back, or takes back the rows of a join. */
  static boolean joinsChanges(LogicalPlan plan) {
    return plan.exists(node -> isJoin(node) && hasChanges(node));
  }

  /**
   * Returns the conditions of the rows of a plan that are taken back. State above them depends on
   * them: with another condition, rows would be taken back that were not returned.
   */
  static List<Expression> conditions(LogicalPlan plan) {
    var all = new ArrayList<Expression>();
    plan.foreach(
        node -> {
          if (node instanceof Filter filter && hasChanges(filter)) all.add(filter.condition());
          return null;
        });
    return all;
  }

  private LogicalPlan ofJoin(Join written) {
    if (!Plans.keepsState(written))
      throw new Refusal("the join reads a table, which can change between the batches");
    var changes = new JoinChanges(written);
    var join = changes.join();
    var sign = Plans.alias(Literal$.MODULE$.apply(1), SIGN).toAttribute();
    return changes.over(of(join.left()), of(join.right()), sign, uses);
  }

  /** Returns the rows of a stream, which are never taken back. */
  private static LogicalPlan ofRows(LogicalPlan rows) {
    var reason = Plans.sparkReason(rows, OutputMode.Append());
    if (!rows.isStreaming()) throw new Refusal("a table is read beside the aggregate");
    if (reason != null) throw new Refusal(reason);
    var sign = Plans.alias(Literal$.MODULE$.apply(1), SIGN);
    return new Project(with(Plans.list(rows.output()), sign), rows);
  }

  private LogicalPlan ofGenerated(Generate node) {
    var below = of(node.child());
    var rows =
        new Generate(
            node.generator(),
            node.unrequiredChildIndex(),
            node.outer(),
            node.qualifier(),
            node.generatorOutput(),
            below);
    return new Project(with(Plans.list(node.output()), sign(below)), rows);
  }

  private LogicalPlan ofExpanded(Expand node) {
    var below = of(node.child());
    var sign = sign(below);
    var projections = new ArrayList<Seq<Expression>>();
    for (var projection : Plans.list(node.projections())) {
      var columns = new ArrayList<>(Plans.list(projection));
      columns.add((Expression) sign);
      projections.add(Sequences.of(columns));
    }
    var output = new ArrayList<>(Plans.list(node.output()));
    output.add(sign);
    return new Expand(Sequences.of(projections), Sequences.of(output), below);
  }

  /** Returns the groups of an aggregate over rows of streams. */
  private static Groups firstGroups(Aggregate aggregate) {
    var rows = Plans.streamLike(aggregate.child());
    var reason = Plans.sparkReason(aggregate.child(), OutputMode.Append());
    if (reason == null)
      reason =
          Plans.sparkReason(aggregate.withNewChildren(Sequences.of(rows)), OutputMode.Update());
    if (reason != null) throw new Refusal(reason);
    var isSession =
        Plans.list(aggregate.groupingExpressions()).stream()
            .anyMatch(
                group ->
                    group instanceof Attribute column
                        && column.metadata().contains(SessionWindow.marker()));
    if (isSession) throw new Refusal("session windows merge");
    var columns = new ArrayList<>(Plans.list(aggregate.aggregateExpressions()));
    var keys = addKeys(columns, aggregate);
    columns.add(Plans.alias(Literal$.MODULE$.apply(1L), "rows"));
    return new Groups(copy(aggregate, columns, aggregate.child()), keys);
  }

  private static Aggregate copy(
      Aggregate aggregate, List<NamedExpression> columns, LogicalPlan child) {
    return new Aggregate(
        aggregate.groupingExpressions(), Sequences.of(columns), child, aggregate.hint());
  }

  /** Adds the grouping columns that are missing, and returns the indexes of all. */
  private static List<Integer> addKeys(List<NamedExpression> columns, Aggregate aggregate) {
    var keys = new ArrayList<Integer>();
    for (var group : Plans.list(aggregate.groupingExpressions())) {
      if (!UnsafeRowUtils.isBinaryStable(group.dataType()))
        throw new Refusal("values of " + Plans.text(group) + " have several forms");
      var at = find(columns, group);
      if (at == columns.size()) columns.add(Plans.alias(group, "key"));
      keys.add(at);
    }
    return keys;
  }

  /** Returns an aggregate over the changes below it. */
  Groups groups(Aggregate written) {
    var aggregate = (Aggregate) Plans.withoutReplaceable(written);
    checkStable(aggregate);
    var below = of(aggregate.child());
    var calls = new SignedAggregates(sign(below));
    var columns = new ArrayList<NamedExpression>();
    for (var column : Plans.list(aggregate.aggregateExpressions())) {
      columns.add(column instanceof Alias alias ? result(aggregate, alias, calls) : column);
    }
    var keys = addKeys(columns, aggregate);
    columns.add(Plans.alias(calls.rows(), "rows"));
    var totals = copy(aggregate, columns, below);
    // Spark's aggregate would keep the state of groups that have no rows any more.
    var isSparks = calls.values().isEmpty() && !LastingGroups.canBecomeEmpty(aggregate);
    return new Groups(isSparks ? totals : withValues(totals, calls), keys);
  }

  /** Returns an aggregate over changes that removes empty groups, and may keep their values. */
  private LogicalPlan withValues(Aggregate aggregate, SignedAggregates calls) {
    var parts = PhysicalAggregation$.MODULE$.unapply(aggregate).get();
    var groups = Plans.list(parts._1());
    var sums = Plans.list(parts._2()).stream().map(AggregateExpression.class::cast).toList();
    var child = aggregate.child();
    var columns = new ArrayList<NamedExpression>(groups);
    columns.addAll(Plans.list(child.output()));
    var values = new ArrayList<ValueCounts>();
    var state = new ArrayList<Expression>();
    groups.forEach(group -> state.add((Expression) group));
    state.addAll(sums);
    var output = new ArrayList<Attribute>();
    groups.forEach(group -> output.add(group.toAttribute()));
    sums.forEach(sum -> output.add(sum.resultAttribute()));
    for (var each : calls.values()) {
      values.add(new ValueCounts(columns.size(), each.column().dataType()));
      columns.add(Plans.alias(each.column(), "value"));
      state.add(each.column());
      output.addAll(each.facts());
    }
    var words = Plans.texts(aggregate.groupingExpressions());
    var meaning =
        values.isEmpty()
            ? "the totals of each %s are kept while it has rows; state: 1 row".formatted(words)
            : "all different values of %s are kept for min(), max() and count(DISTINCT); state: 1 row"
                    .formatted(words.isEmpty() ? "the result" : "each " + words)
                + " for each of them";
    var hadSeveralForms =
        calls.countsNested() || EqualKey.hasSeveralForms(aggregate.groupingExpressions());
    uses.add(meaning, "", hadSeveralForms ? ChangedResults.EQUAL_KEYS : 0);
    var rows = new Project(Sequences.of(columns), child);
    var processor =
        new GroupsProcessor(
            words,
            groups.size(),
            groups.size() + child.output().size() - 1,
            new AggregateBuffers(sums, rows.output()),
            values,
            state,
            Plans.withUniqueNames(rows).schema());
    return new Project(
        parts._3(),
        processor.over(
            Plans.withUniqueNames(rows),
            IntStream.range(0, groups.size()).boxed().toList(),
            Sequences.of(output),
            TimeMode.None(),
            OutputMode.Update()));
  }

  /** Returns a column of an aggregate; NULL for a group without rows, which has no result. */
  private static Alias result(Aggregate aggregate, Alias column, SignedAggregates calls) {
    if (isGroup(aggregate, column.child())) return column;
    var value =
        column
            .child()
            .transformUp(
                PartialFunctions.<Expression, Expression>of(
                    AggregateExpression.class::isInstance,
                    node -> calls.result((AggregateExpression) node)));
    var isAlwaysThere = aggregate.groupingExpressions().isEmpty();
    var guarded =
        isAlwaysThere
            ? value
            : new If(
                SignedAggregates.isPresent(calls.rows()),
                value,
                SignedAggregates.nothing(column.dataType()));
    return Plans.renamed(guarded, column);
  }

  /** Returns the changes of the groups of an aggregate. */
  private LogicalPlan changes(Aggregate aggregate, Groups groups) {
    var rows = Plans.withUniqueNames(groups.plan());
    var values = Plans.list(aggregate.aggregateExpressions());
    var type = new StructType();
    for (int i = 0; i < values.size(); i++) {
      type = type.add("c" + i, rows.schema().fields()[i].dataType());
    }
    var state = new ArrayList<>(Plans.list(aggregate.groupingExpressions()));
    values.forEach(value -> state.add((Expression) value));
    var words = Plans.texts(aggregate.groupingExpressions());
    uses.add(
        words.isEmpty()
            ? "the total is kept, and only its changes go on; state: 2 rows"
            : "the result of each %s is kept, and only its changes go on; state: 2 rows for each of them"
                .formatted(words));
    var output = new ArrayList<Attribute>();
    values.forEach(value -> output.add(value.toAttribute()));
    output.add(Plans.alias(Literal$.MODULE$.apply(1), SIGN).toAttribute());
    return new ChangesProcessor(words, state, type)
        .over(rows, groups.keys(), Sequences.of(output), TimeMode.None(), OutputMode.Update());
  }

  /** Returns the index of the column with a grouping expression, or the number of columns. */
  private static int find(List<NamedExpression> columns, Expression group) {
    return IntStream.range(0, columns.size())
        .filter(i -> valueOf(columns.get(i)).semanticEquals(group))
        .findFirst()
        .orElse(columns.size());
  }

  static Expression valueOf(NamedExpression column) {
    return column instanceof Alias alias ? alias.child() : (Expression) column;
  }

  static boolean isGroup(Aggregate aggregate, Expression value) {
    return Plans.list(aggregate.groupingExpressions()).stream().anyMatch(value::semanticEquals);
  }

  /** Throws Refusal for a node that can compute another row when a row is taken back. */
  static void checkStable(LogicalPlan node) {
    for (var expression : Plans.list(node.expressions())) {
      if (!expression.deterministic() || expression.exists(AggregateChanges::varies))
        throw new Refusal(Plans.text(expression) + " can change between the batches");
    }
  }

  private static boolean varies(Expression part) {
    return CurrentTimes.isCurrent(part) || part instanceof PlanExpression;
  }

  static Attribute sign(LogicalPlan changes) {
    return changes.output().last();
  }

  static Seq<NamedExpression> with(List<? extends NamedExpression> columns, NamedExpression last) {
    var all = new ArrayList<NamedExpression>(columns);
    all.add(last);
    return Sequences.of(all);
  }
}
