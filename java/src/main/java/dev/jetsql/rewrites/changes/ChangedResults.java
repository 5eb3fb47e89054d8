package dev.jetsql.rewrites.changes;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import dev.jetsql.plans.RuleProcessor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CheckOverflowInTableInsert;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.IntegralType;

/**
 * Keeps the result of an aggregate over aggregates, or of a join whose rows are taken back, up to
 * date in a table with keys: each batch returns the rows that have changes. The last column marks
 * those that are deleted.
 *
 * @param keys the names of the table's key columns, in lower case
 * @param nullIsKey whether NULL is a key of a row
 */
public record ChangedResults(Set<String> keys, boolean nullIsKey) {
  /** The name of the rule, which jobs store. */
  public static final String NAME = "changed results";

  /** The version whose state has keys in one form. */
  static final int EQUAL_KEYS = 2;

  /** Returns the rule for a table with these key columns. */
  public static ChangedResults by(List<String> keys, boolean nullIsKey) {
    return new ChangedResults(
        keys.stream().map(key -> key.toLowerCase(Locale.ROOT)).collect(Collectors.toSet()),
        nullIsKey);
  }

  /** Returns whether a plan has operators of this rule. */
  public static boolean isUsed(LogicalPlan plan) {
    return plan.exists(
        node ->
            RuleProcessor.of(node) instanceof ChangesProcessor
                || RuleProcessor.of(node) instanceof JoinChangesProcessor);
  }

  /** Applies the rule, see {@link dev.jetsql.plans.RewriteRule.Rewrite}. */
  public LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    try {
      return result(query, uses);
    } catch (AggregateChanges.Refusal e) {
      return query;
    }
  }

  /**
   * Returns why the rule does not apply to a query with changes, a sentence, or null for any other
   * query.
   */
  public String refusal(LogicalPlan query) {
    try {
      result(query, (meaning, caution, version) -> {});
      return null;
    } catch (AggregateChanges.Refusal e) {
      return e.ofAggregates()
          ? "Its result cannot be updated by changes: " + e.getMessage() + "."
          : null;
    }
  }

  private LogicalPlan result(LogicalPlan written, Uses uses) {
    // What a join compares may be in WHERE, and rows that are not in the result need no state.
    var query =
        AggregateChanges.joinsChanges(written)
            ? PushDownPredicates$.MODULE$.apply(written)
            : written;
    var needed =
        Plans.list(query.output()).stream()
            .filter(column -> keys.contains(column.name().toLowerCase(Locale.ROOT)))
            .map(Attribute::exprId)
            .collect(Collectors.toSet());
    if (!isAggregate(query) && AggregateChanges.joinsChanges(query))
      return keyed(query, needed, uses);
    var rows = rows(query, needed, needed, uses);
    var columns = new ArrayList<NamedExpression>();
    for (var column : Plans.list(query.output())) {
      columns.add(
          needed.contains(column.exprId()) ? column : unlessDeleted(column, column, deleted(rows)));
    }
    var marked = new Project(AggregateChanges.with(columns, deleted(rows)), rows);
    return nullIsKey ? marked : withKeys(marked, needed);
  }

  /** Returns whether the rows of a query are the groups of an aggregate. */
  private static boolean isAggregate(LogicalPlan query) {
    var node = query;
    while (node instanceof Project || node instanceof Filter) node = node.children().head();
    return node instanceof Aggregate;
  }

  private static LogicalPlan keyed(LogicalPlan query, Set<ExprId> keys, Uses uses) {
    var columns = Plans.list(query.output());
    var rows =
        new KeyedRows(
            query,
            IntStream.range(0, columns.size())
                .filter(i -> keys.contains(columns.get(i).exprId()))
                .boxed()
                .toList());
    var changes = new AggregateChanges(uses).of(query);
    rows.check();
    return rows.over(changes, uses);
  }

  /** Returns the rows without deletions of NULL, which is no key of a row. */
  private static LogicalPlan withKeys(LogicalPlan rows, Set<ExprId> keys) {
    Expression isKept = new Not((Expression) deleted(rows));
    Expression isKey = Literal$.MODULE$.apply(true);
    for (var column : Plans.list(rows.output()))
      if (keys.contains(column.exprId()))
        isKey = new And(isKey, new IsNotNull((Expression) column));
    return new Filter(new Or(isKept, isKey), rows);
  }

  /**
   * Returns the rows of a node of the query, followed by the column that marks deleted rows.
   *
   * @param needed the columns from which the keys of the table are computed
   * @param same those that have the value of a key
   */
  private LogicalPlan rows(LogicalPlan node, Set<ExprId> needed, Set<ExprId> same, Uses uses) {
    if (node instanceof Project project) return projected(project, needed, same, uses);
    if (node instanceof Filter filter) {
      AggregateChanges.checkStable(filter);
      var below = rows(filter.child(), needed, same, uses);
      var isTrue = new Coalesce(Sequences.of(filter.condition(), Literal$.MODULE$.apply(false)));
      var deleted = Plans.alias(new Or(deleted(below), new Not(isTrue)), Plans.DELETED);
      return new Project(AggregateChanges.with(Plans.list(filter.output()), deleted), below);
    }
    if (!(node instanceof Aggregate aggregate) || !AggregateChanges.hasChanges(aggregate.child()))
      throw AggregateChanges.Refusal.ofOther(node);
    checkKeys(aggregate, needed, same);
    var groups = new AggregateChanges(uses).groups(aggregate);
    var isGone =
        aggregate.groupingExpressions().isEmpty()
            ? Literal$.MODULE$.apply(false)
            : new Not(SignedAggregates.isPresent(groups.count()));
    return new Project(
        AggregateChanges.with(Plans.list(aggregate.output()), Plans.alias(isGone, Plans.DELETED)),
        groups.plan());
  }

  private LogicalPlan projected(Project project, Set<ExprId> needed, Set<ExprId> same, Uses uses) {
    var neededBelow = new HashSet<ExprId>();
    var sameBelow = new HashSet<ExprId>();
    for (var column : Plans.list(project.projectList())) {
      if (!needed.contains(column.exprId())) continue;
      var value = AggregateChanges.valueOf(column);
      value.foreach(
          part -> {
            if (part instanceof Attribute attribute) neededBelow.add(attribute.exprId());
            return null;
          });
      if (value instanceof CheckOverflowInTableInsert checked) value = checked.child();
      while (value instanceof Cast cast && isKept(cast)) value = cast.child();
      if (same.contains(column.exprId()) && value instanceof Attribute attribute)
        sameBelow.add(attribute.exprId());
    }
    var below = rows(project.child(), neededBelow, sameBelow, uses);
    var columns = new ArrayList<NamedExpression>();
    for (var column : Plans.list(project.projectList())) {
      columns.add(
          column instanceof Alias alias && !needed.contains(column.exprId())
              ? unlessDeleted(alias.child(), alias, deleted(below))
              : column);
    }
    return new Project(AggregateChanges.with(columns, deleted(below)), below);
  }

  /** Returns whether a cast has another result, or an error, for another value. */
  private static boolean isKept(Cast cast) {
    var from = cast.child().dataType();
    var isChecked = cast.evalMode().equals(EvalMode.ANSI());
    return Cast$.MODULE$.canUpCast(from, cast.dataType())
        || (isChecked && from instanceof IntegralType && cast.dataType() instanceof IntegralType);
  }

  /** Throws Refusal unless each group has one row of the table, whose key never changes. */
  private static void checkKeys(Aggregate aggregate, Set<ExprId> needed, Set<ExprId> same) {
    var columns = Plans.list(aggregate.aggregateExpressions());
    for (var column : columns) {
      if (needed.contains(column.exprId())
          && AggregateChanges.valueOf(column).exists(AggregateExpression.class::isInstance))
        throw new AggregateChanges.Refusal("a key column is not one of the grouping columns");
    }
    for (var group : Plans.list(aggregate.groupingExpressions())) {
      if (!group.foldable()
          && columns.stream()
              .noneMatch(
                  column ->
                      same.contains(column.exprId())
                          && AggregateChanges.valueOf(column).semanticEquals(group)))
        throw new AggregateChanges.Refusal(Plans.text(group) + " is not one of the key columns");
    }
  }

  private static Alias unlessDeleted(Expression value, NamedExpression as, Attribute deleted) {
    return Plans.renamed(
        new If((Expression) deleted, SignedAggregates.nothing(value.dataType()), value), as);
  }

  private static Attribute deleted(LogicalPlan rows) {
    return rows.output().last();
  }
}
