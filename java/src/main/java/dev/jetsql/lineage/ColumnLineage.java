package dev.jetsql.lineage;

import dev.jetsql.lineage.Dependencies.Kind;
import dev.jetsql.plans.Plans;
import dev.jetsql.records.SourceColumns;
import dev.jetsql.rewrites.patterns.MatchedRows;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SessionWindow$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.TimeWindow$;
import org.apache.spark.sql.catalyst.expressions.aggregate.PivotFirst;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.DeduplicateWithinWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Except;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Intersect;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LateralJoin;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import scala.Option;

/** The columns of tables on which the columns and the rows of an analysed query depend. */
final class ColumnLineage {
  private final Datasets datasets;
  private final Map<Object, List<Dependencies>> ctes = new HashMap<>();
  private final IdentityHashMap<LogicalPlan, Integer> pivoted = new IdentityHashMap<>();
  private final Dependencies rows = new Dependencies();

  ColumnLineage(Datasets datasets) {
    this.datasets = datasets;
  }

  /** Returns what decides which rows there are, of all plans that were read. */
  Dependencies rows() {
    return rows;
  }

  /** The columns that expressions can read. */
  record Scope(Map<ExprId, Dependencies> columns, Scope outer) {
    static Scope empty() {
      return new Scope(new HashMap<>(), null);
    }

    Dependencies get(ExprId id) {
      var known = columns.get(id);
      if (known != null) return known;
      return outer == null ? new Dependencies() : outer.get(id);
    }
  }

  /**
   * Returns the columns of the result of a plan. outer: those that its expressions can read, too
   */
  Scope read(LogicalPlan plan, Scope outer) {
    var leaf = sourceOf(plan);
    if (leaf != null) return readSource(leaf, plan, outer);
    if (plan instanceof CTERelationRef read)
      return named(plan, ctes.getOrDefault(read.cteId(), List.of()), outer);
    if (plan instanceof Union union) return readUnion(union, outer);
    var all = new Scope(new HashMap<>(), outer);
    if (plan instanceof Aggregate aggregate) findPivot(aggregate);
    for (var child : Plans.list(plan.children()))
      all.columns().putAll(read(withoutNullTimes(plan, child), outer).columns());
    readNode(plan, all);
    var made = new Scope(new HashMap<>(), outer);
    for (var column : Plans.list(plan.output()))
      made.columns().put(column.exprId(), all.get(column.exprId()));
    if (plan instanceof CTERelationDef definition)
      ctes.put(
          definition.id(),
          Plans.list(plan.output()).stream().map(column -> made.get(column.exprId())).toList());
    return made;
  }

  // --- sources ----------------------------------------------------------------------------------

  /**
   * Returns the leaf whose rows are a table in this node, or null. Rows of topics and of checked
   * files are decoded by the nodes below it, which belong to the table.
   */
  private static LogicalPlan sourceOf(LogicalPlan plan) {
    var leaves = Plans.list(plan.collectLeaves());
    if (plan.children().isEmpty()) return plan instanceof CTERelationRef ? null : plan;
    if (!isDecoding(plan) || leaves.size() != 1) return null;
    var isLowest =
        Plans.list(plan.children()).stream()
            .noneMatch(child -> child.exists(ColumnLineage::isDecoding));
    return isLowest ? leaves.get(0) : null;
  }

  private static boolean isDecoding(LogicalPlan plan) {
    return plan instanceof Project project
        && Plans.list(project.projectList()).stream()
            .anyMatch(
                column ->
                    column instanceof Alias alias
                        && alias.explicitMetadata().isDefined()
                        && alias.metadata().contains(SourceColumns.KEY));
  }

  private Scope readSource(LogicalPlan leaf, LogicalPlan plan, Scope outer) {
    var columns = Plans.list(plan.output());
    var dataset = datasets.add(leaf, columns);
    if (dataset < 0) return new Scope(new HashMap<>(), outer);
    return named(
        plan,
        columns.stream().map(column -> Dependencies.of(dataset, column.name())).toList(),
        outer);
  }

  private static Scope named(LogicalPlan plan, List<Dependencies> values, Scope outer) {
    var made = new Scope(new HashMap<>(), outer);
    var columns = Plans.list(plan.output());
    for (int i = 0; i < columns.size() && i < values.size(); i++)
      made.columns().put(columns.get(i).exprId(), values.get(i));
    return made;
  }

  // --- nodes ------------------------------------------------------------------------------------

  private Scope readUnion(Union union, Scope outer) {
    List<Dependencies> merged = new ArrayList<>();
    for (var child : Plans.list(union.children())) {
      var scope = read(child, outer);
      var columns = Plans.list(child.output());
      for (int i = 0; i < columns.size(); i++) {
        var value = scope.get(columns.get(i).exprId());
        if (i < merged.size()) merged.set(i, Dependencies.either(merged.get(i), value));
        else merged.add(value);
      }
    }
    return named(union, merged, outer);
  }

  /** Reads the expressions of a node. scope: the columns of its children, which gets its own */
  private void readNode(LogicalPlan plan, Scope scope) {
    if (plan instanceof Project project) {
      define(Plans.list(project.projectList()), scope);
    } else if (plan instanceof Aggregate aggregate) {
      addRows(groups(aggregate), Kind.GROUP_BY, scope);
      define(Plans.list(aggregate.aggregateExpressions()), scope);
    } else if (plan instanceof Filter filter) {
      if (!isOfWindow(filter)) addRows(List.of(filter.condition()), Kind.FILTER, scope);
    } else if (plan instanceof Join join) {
      addRows(list(join.condition()), Kind.JOIN, scope);
    } else if (plan instanceof AsOfJoin join) {
      addRows(List.of(join.asOfCondition()), Kind.JOIN, scope);
      addRows(list(join.condition()), Kind.JOIN, scope);
    } else if (plan instanceof LateralJoin join) {
      scope.columns().putAll(read(join.right().plan(), scope).columns());
      addRows(list(join.condition()), Kind.JOIN, scope);
    } else if (plan instanceof Window window) {
      define(Plans.list(window.windowExpressions()), scope);
    } else if (plan instanceof Sort sort) {
      addRows(Plans.list(sort.order()), Kind.SORT, scope);
    } else if (plan instanceof Distinct || plan instanceof Intersect || plan instanceof Except) {
      readSets(plan, scope);
    } else if (plan instanceof Deduplicate unique) {
      addRows(Plans.list(unique.keys()), Kind.GROUP_BY, scope);
    } else if (plan instanceof DeduplicateWithinWatermark unique) {
      addRows(Plans.list(unique.keys()), Kind.GROUP_BY, scope);
    } else if (plan instanceof Generate generate) {
      var value = values(scope).of((Expression) generate.generator());
      for (var column : Plans.list(generate.generatorOutput()))
        scope.columns().put(column.exprId(), value.direct(Kind.TRANSFORMATION, false));
    } else if (plan instanceof Expand expand) {
      readExpand(expand, scope);
    } else if (plan instanceof MatchedRows matched) {
      readMatches(matched, scope);
    } else if (!(plan instanceof RepartitionOperation)) {
      readOther(plan, scope);
    }
  }

  /** Reads a node of any other kind: the columns that it makes depend on all its expressions. */
  private void readOther(LogicalPlan plan, Scope scope) {
    var all = new Dependencies();
    for (var expression : Plans.list(plan.expressions()))
      all.add(values(scope).of(expression).direct(Kind.TRANSFORMATION, false));
    var inherited = new HashMap<ExprId, Boolean>();
    for (var child : Plans.list(plan.children()))
      for (var column : Plans.list(child.output())) inherited.put(column.exprId(), true);
    for (var column : Plans.list(plan.output()))
      if (!inherited.containsKey(column.exprId())) scope.columns().put(column.exprId(), all);
  }

  private void readSets(LogicalPlan plan, Scope scope) {
    var kind = plan instanceof Distinct ? Kind.GROUP_BY : Kind.FILTER;
    for (var child : Plans.list(plan.children()))
      for (var column : Plans.list(child.output()))
        rows.add(scope.get(column.exprId()).indirect(kind));
    if (!(plan instanceof Intersect intersect)) return;
    var left = Plans.list(intersect.left().output());
    var output = Plans.list(plan.output());
    for (int i = 0; i < output.size(); i++)
      scope.columns().put(output.get(i).exprId(), scope.get(left.get(i).exprId()));
  }

  private void readExpand(Expand expand, Scope scope) {
    var made = new ArrayList<Dependencies>();
    for (var projection : Plans.list(expand.projections())) {
      var values = Plans.list(projection);
      for (int i = 0; i < values.size(); i++) {
        var value = values(scope).of(values.get(i));
        if (i < made.size()) made.set(i, Dependencies.either(made.get(i), value));
        else made.add(value);
      }
    }
    var output = Plans.list(expand.output());
    for (int i = 0; i < output.size(); i++) {
      var value = isWindow(output.get(i)) ? made.get(i).ofWindow() : made.get(i);
      scope.columns().put(output.get(i).exprId(), value);
    }
  }

  private void readMatches(MatchedRows matched, Scope scope) {
    addRows(matched.keyColumns(), Kind.GROUP_BY, scope);
    addRows(matched.orderColumns(), Kind.SORT, scope);
    addRows(matched.conditionColumns(), Kind.FILTER, scope);
    var results = Plans.list(matched.output());
    for (int i = 0; i < results.size(); i++) {
      var value = new Dependencies();
      var kind = matched.resultKind(i);
      for (var column : matched.resultColumns(i))
        value.add(
            scope
                .get(column.exprId())
                .direct(
                    switch (kind) {
                      case COLUMN -> Kind.IDENTITY;
                      case VALUE -> Kind.TRANSFORMATION;
                      case AGGREGATE -> Kind.AGGREGATION;
                    },
                    false));
      scope.columns().put(results.get(i).exprId(), value);
    }
  }

  private void define(List<? extends NamedExpression> columns, Scope scope) {
    var made = new HashMap<ExprId, Dependencies>();
    for (var column : columns) {
      var value = values(scope).of((Expression) column);
      made.put(column.exprId(), isWindow(column) ? value.ofWindow() : value);
    }
    scope.columns().putAll(made);
  }

  /** Remembers the aggregate below a PIVOT, which Spark groups by the column of FOR as well. */
  private void findPivot(Aggregate aggregate) {
    var isPivot =
        Plans.list(aggregate.aggregateExpressions()).stream()
            .anyMatch(column -> ((Expression) column).exists(PivotFirst.class::isInstance));
    var below = isPivot ? aggregate.child().find(Aggregate.class::isInstance) : null;
    if (below != null && below.isDefined())
      pivoted.put(below.get(), aggregate.groupingExpressions().size());
  }

  /** Returns the expressions by which the user groups. */
  private List<Expression> groups(Aggregate aggregate) {
    var all = Plans.list(aggregate.groupingExpressions());
    return all.subList(0, pivoted.getOrDefault(aggregate, all.size()));
  }

  private void addRows(List<? extends Expression> expressions, Kind kind, Scope scope) {
    for (var expression : expressions) {
      var value = expression instanceof SortOrder order ? order.child() : expression;
      rows.add(values(scope).of(value).indirect(kind));
    }
  }

  private ValueLineage values(Scope scope) {
    return new ValueLineage(this, scope);
  }

  private static List<Expression> list(Option<Expression> condition) {
    return condition.isDefined() ? List.of(condition.get()) : List.of();
  }

  // --- windows of time --------------------------------------------------------------------------

  /** Returns whether Spark has added a filter to windows of time, which the user did not write. */
  private static boolean isOfWindow(Filter filter) {
    return makesWindow(filter.child());
  }

  /** Returns the child of a node without the filter of rows without a time, likewise. */
  private static LogicalPlan withoutNullTimes(LogicalPlan plan, LogicalPlan child) {
    var isAdded =
        makesWindow(plan)
            && child instanceof Filter filter
            && Plans.conjuncts(filter.condition()).stream().allMatch(IsNotNull.class::isInstance);
    return isAdded ? ((Filter) child).child() : child;
  }

  private static boolean makesWindow(LogicalPlan plan) {
    if (!(plan instanceof Project || plan instanceof Expand || plan instanceof Generate))
      return false;
    var below = plan.children().head().outputSet();
    return Plans.list(plan.output()).stream()
        .anyMatch(column -> isWindow(column) && !below.contains(column));
  }

  private static boolean isWindow(NamedExpression column) {
    return column.metadata().contains(TimeWindow$.MODULE$.marker())
        || column.metadata().contains(SessionWindow$.MODULE$.marker());
  }
}
