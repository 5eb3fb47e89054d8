package dev.jetsql.rewrites.changes;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;

/**
 * Makes the changed rows of a table with keys from the changes of a result, in which a row may have
 * any key.
 */
final class KeyedRows {
  private final LogicalPlan query;
  private final List<Integer> keys;
  private final Set<ExprId> determined = new HashSet<>();

  /**
   * @param keys the indexes of the key columns of the query
   */
  KeyedRows(LogicalPlan query, List<Integer> keys) {
    this.query = query;
    this.keys = keys;
  }

  /** Returns the rows, followed by the column that marks those that are deleted. */
  LogicalPlan over(LogicalPlan changes, Uses uses) {
    var columns = Plans.list(query.output());
    var words = keys.stream().map(i -> columns.get(i).name()).collect(Collectors.joining(", "));
    var keyColumns =
        Sequences.<Expression>of(keys.stream().map(i -> (Expression) columns.get(i)).toList());
    uses.add(
        "the row of each %s is kept; state: 1 row for each of them".formatted(words),
        "",
        EqualKey.hasSeveralForms(keyColumns) ? ChangedResults.EQUAL_KEYS : 0);
    var type = new StructType();
    for (var column : columns) type = type.add("c" + type.size(), column.dataType());
    var output = new ArrayList<>(columns);
    output.add(Plans.alias(Literal$.MODULE$.apply(false), Plans.DELETED).toAttribute());
    var state = new ArrayList<Expression>(List.<Expression>copyOf(columns));
    state.addAll(AggregateChanges.conditions(query));
    return new KeyedRowsProcessor(words, state, type)
        .over(
            Plans.withUniqueNames(withEqualKeys(changes)),
            keys,
            Sequences.of(output),
            TimeMode.None(),
            OutputMode.Update());
  }

  /** Returns the changes with one form of each key, which a topic compares by its bytes. */
  private LogicalPlan withEqualKeys(LogicalPlan changes) {
    var columns = new ArrayList<NamedExpression>(Plans.list(changes.output()));
    for (int i : keys) {
      var column = (Attribute) columns.get(i);
      var form = EqualKey.of(column);
      if (form != column) columns.set(i, Plans.renamed(form, column));
    }
    return new Project(Sequences.of(columns), changes);
  }

  /**
   * Throws Refusal if groups of an aggregate have the same key: a grouping column is no part of a
   * key, nor equal to one. The rows of a stream may have any keys, which only a run can compare.
   */
  void check() {
    if (query.exists(Union.class::isInstance)) return;
    var parts = new ArrayList<LogicalPlan>();
    addParts(query, parts);
    keys.forEach(i -> determined.add(query.output().apply(i).exprId()));
    int known;
    do {
      known = determined.size();
      query.foreach(
          node -> {
            // Rows that are in the result of an anti join do not meet its condition.
            if (!isAntiJoin(node)) Plans.list(node.expressions()).forEach(this::follow);
            return null;
          });
      parts.stream().filter(part -> undetermined(part) == null).forEach(this::addColumns);
    } while (determined.size() > known);
    for (var part : parts) {
      var group = undetermined(part);
      if (group != null)
        throw new AggregateChanges.Refusal(
            Plans.text(group) + " is neither one of the key columns nor equal to one");
    }
  }

  private static boolean isAntiJoin(LogicalPlan node) {
    return node instanceof Join join && join.joinType().equals(LeftAnti$.MODULE$);
  }

  /** Adds the aggregates and the rows of streams whose columns the joins of a plan combine. */
  private static void addParts(LogicalPlan node, List<LogicalPlan> parts) {
    if (node instanceof Aggregate || !AggregateChanges.hasChanges(node)) parts.add(node);
    else if (node instanceof Join join && !JoinShape.of(join.joinType()).returnsPairs())
      addParts(join.left(), parts);
    else Plans.list(node.children()).forEach(child -> addParts(child, parts));
  }

  /** Adds the columns of which a key is computed, and those that are equal to others. */
  private void follow(Expression expression) {
    if (expression instanceof Alias alias) {
      if (isDetermined(alias.child())) determined.add(alias.exprId());
      else if (determined.contains(alias.exprId())) addColumns(alias.child());
      return;
    }
    for (var condition : Plans.conjuncts(expression)) {
      if (!(condition instanceof EqualTo || condition instanceof EqualNullSafe)) continue;
      var sides = Plans.list(condition.children());
      if (isDetermined(sides.get(0))) addColumns(sides.get(1));
      if (isDetermined(sides.get(1))) addColumns(sides.get(0));
    }
  }

  private boolean isDetermined(Expression expression) {
    return Plans.list(expression.references().toSeq()).stream()
        .allMatch(column -> determined.contains(column.exprId()));
  }

  private void addColumns(Expression expression) {
    Plans.list(expression.references().toSeq()).forEach(column -> determined.add(column.exprId()));
  }

  private void addColumns(LogicalPlan part) {
    Plans.list(part.output()).forEach(column -> determined.add(column.exprId()));
  }

  /** Returns a grouping column of an aggregate that no key determines, or null. */
  private Expression undetermined(LogicalPlan part) {
    return part instanceof Aggregate aggregate
        ? Plans.list(aggregate.groupingExpressions()).stream()
            .filter(group -> !isDetermined(group))
            .findFirst()
            .orElse(null)
        : null;
  }
}
