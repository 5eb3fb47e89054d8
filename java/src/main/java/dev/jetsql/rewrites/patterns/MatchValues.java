package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.AggregateBuffers;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BindReferences$;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampLike;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

/** Collects the values that expressions of a MATCH_RECOGNIZE read of the match. */
final class MatchValues {
  private static final int MOST_ROWS = 10_000;

  private final MatchClause clause;
  private final List<String> variables;
  private final List<Attribute> columns;
  private final AttributeReference classifier =
      new AttributeReference(
          "classifier",
          DataTypes.StringType,
          true,
          Metadata.empty(),
          NamedExpression$.MODULE$.newExprId(),
          Sequences.of());
  private final List<MatchValue> values = new ArrayList<>();

  /** The single variable whose columns an expression reads, and the expression over its rows. */
  private record RowExpression(String variable, Expression expression) {}

  /** Creates a collection. inputs: the columns of the rows */
  MatchValues(MatchClause clause, List<String> variables, List<Attribute> inputs) {
    this.clause = clause;
    this.variables = variables;
    this.columns = new ArrayList<>(inputs);
    columns.add(classifier);
  }

  /** Returns the columns of the rows, and one with the name of the row's variable. */
  List<Attribute> columns() {
    return columns;
  }

  List<MatchValue> values() {
    return values;
  }

  /** Returns the indexes of the values that a bound expression reads. */
  static List<Integer> used(Expression bound) {
    var used = new ArrayList<Integer>();
    bound.foreach(
        node -> {
          if (node instanceof BoundReference value && !used.contains(value.ordinal()))
            used.add(value.ordinal());
          return null;
        });
    return used;
  }

  /** Returns an expression over the values. Throws errors at their places. */
  Expression bind(Expression expression) {
    if (expression instanceof MatchCall call) return bindCall(call, false);
    if (expression instanceof AggregateExpression aggregate) return bind(aggregate, false);
    if (expression instanceof Attribute column)
      return row(null, false, 0, 0, false, column, column.dataType());
    checkPossible(expression);
    var children = new ArrayList<Expression>();
    for (var child : Plans.list(expression.children())) children.add(bind(child));
    return expression.withNewChildren(Sequences.of(children));
  }

  private Expression bindCall(MatchCall call, boolean isFinal) {
    switch (call.kind()) {
      case COLUMN, CLASSIFIER -> {
        var row = rowExpression(call, call.origin());
        return row(row.variable(), false, 0, 0, isFinal, row.expression(), call.dataType());
      }
      case FIRST, LAST -> {
        return bindLogical(call, 0, isFinal);
      }
      case PREV, NEXT -> {
        int rows = offset(call, 1);
        int distance = call.kind() == MatchCall.Kind.PREV ? -rows : rows;
        if (call.value() instanceof MatchCall inner
            && (inner.kind() == MatchCall.Kind.FIRST || inner.kind() == MatchCall.Kind.LAST))
          return bindLogical(inner, distance, isFinal);
        var row = rowExpression(call.value(), call.origin());
        return row(row.variable(), false, 0, distance, isFinal, row.expression(), call.dataType());
      }
      case MATCH_NUMBER -> {
        return add(
            new MatchValue(MatchValue.Kind.NUMBER, null, false, 0, 0, isFinal, null, false),
            DataTypes.LongType);
      }
      default -> {
        var isWhole = call.kind() == MatchCall.Kind.FINAL;
        if (call.value() instanceof AggregateExpression aggregate) return bind(aggregate, isWhole);
        if (call.value() instanceof MatchCall inner) return bindCall(inner, isWhole);
        throw MatchErrors.wrong(
            call.origin(),
            "%s is possible before FIRST, LAST and aggregate functions only. Leave it out."
                .formatted(call.kind()));
      }
    }
  }

  private Expression bindLogical(MatchCall call, int distance, boolean isFinal) {
    var row = rowExpression(call.value(), call.origin());
    var isFirst = call.kind() == MatchCall.Kind.FIRST;
    return row(
        row.variable(),
        isFirst,
        offset(call, 0),
        distance,
        isFinal,
        row.expression(),
        call.dataType());
  }

  private static int offset(MatchCall call, int otherwise) {
    var offset = call.offset();
    if (offset == null) return otherwise;
    if (offset.foldable() && offset.eval(null) instanceof Integer rows) {
      if (rows >= 0 && rows <= MOST_ROWS) return rows;
    }
    throw MatchErrors.wrong(
        call.origin(),
        "The number of rows of %s must be a constant from 0 to %d."
            .formatted(call.kind(), MOST_ROWS));
  }

  /** Returns an expression that reads one row; its columns are those of one variable. */
  private RowExpression rowExpression(Expression expression, Origin place) {
    var names = new HashSet<String>();
    var plain = plain(expression, names);
    if (names.size() > 1)
      throw MatchErrors.wrong(
          place(expression, place),
          "%s reads rows of several variables (%s). Write a function for each, and compute with"
                  .formatted(Plans.text(expression), String.join(", ", sorted(names)))
              + " their results.");
    var name = names.isEmpty() ? "" : names.iterator().next();
    return new RowExpression(name.isEmpty() ? null : name, plain);
  }

  private static List<String> sorted(Set<String> names) {
    return names.stream().map(name -> name.isEmpty() ? "no variable" : name).sorted().toList();
  }

  private Expression plain(Expression expression, Set<String> names) {
    if (expression instanceof Attribute) names.add("");
    if (expression instanceof MatchCall call) {
      if (call.kind() != MatchCall.Kind.COLUMN && call.kind() != MatchCall.Kind.CLASSIFIER)
        throw MatchErrors.wrong(
            call.origin(),
            "%s is not possible within this function. Within PREV and NEXT, FIRST or LAST is."
                .formatted(call.kind()));
      names.add(call.variable() == null ? "" : call.variable());
      return call.kind() == MatchCall.Kind.CLASSIFIER ? classifier : call.value();
    }
    checkPossible(expression);
    var children = new ArrayList<Expression>();
    for (var child : Plans.list(expression.children())) {
      if (child instanceof AggregateExpression)
        throw MatchErrors.wrong(
            place(child, clause.origin()),
            "An aggregate function is not possible within this function. Write it outside.");
      children.add(plain(child, names));
    }
    return children.isEmpty() ? expression : expression.withNewChildren(Sequences.of(children));
  }

  private Expression bind(AggregateExpression aggregate, boolean isFinal) {
    if (!AggregateBuffers.isPossible(aggregate))
      throw MatchErrors.unsupported(
          place(aggregate, clause.origin()),
          "%s is not supported in MATCH_RECOGNIZE. Use count, sum, avg, min, max or another"
                  .formatted(Plans.text(aggregate))
              + " function that needs one value for a group, without DISTINCT.");
    var row = rowExpression(aggregate, clause.origin());
    return add(
        new MatchValue(
            MatchValue.Kind.AGGREGATE,
            indexes(row.variable()),
            false,
            0,
            0,
            isFinal,
            row.expression(),
            true),
        aggregate.dataType());
  }

  private Expression row(
      String variable,
      boolean isFirst,
      int offset,
      int distance,
      boolean isFinal,
      Expression expression,
      DataType type) {
    var bound =
        BindReferences$.MODULE$.bindReference(
            expression, package$.MODULE$.AttributeSeq(Sequences.of(columns)), false);
    var readsVariable = expression.references().contains(classifier);
    return add(
        new MatchValue(
            MatchValue.Kind.ROW,
            indexes(variable),
            isFirst,
            offset,
            distance,
            isFinal,
            bound,
            readsVariable),
        type);
  }

  private Expression add(MatchValue value, DataType type) {
    int at = values.indexOf(value);
    if (at < 0) {
      at = values.size();
      values.add(value);
    }
    return new BoundReference(at, type, true);
  }

  private List<Integer> indexes(String variable) {
    if (variable == null) return null;
    var indexes = new ArrayList<Integer>();
    for (var name : clause.variables(variable)) indexes.add(variables.indexOf(name));
    return indexes.stream().sorted().toList();
  }

  private static boolean changesByItself(Expression expression) {
    return !expression.deterministic()
        && Plans.list(expression.children()).stream().allMatch(Expression::deterministic);
  }

  private void checkPossible(Expression expression) {
    String what = null;
    if (expression instanceof SubqueryExpression) what = "A subquery";
    else if (expression instanceof WindowExpression) what = "A window function";
    else if (expression instanceof Generator) what = "A function that returns several rows";
    else if (expression instanceof PythonUDF) what = "A function in Python";
    else if (expression instanceof CurrentTimestampLike || changesByItself(expression))
      what = Plans.text(expression);
    if (what != null)
      throw MatchErrors.unsupported(
          place(expression, clause.origin()),
          what
              + " is not supported in MEASURES and DEFINE. Compute the value in a query below or"
              + " above MATCH_RECOGNIZE.");
  }

  /** Returns the place of an expression, or another one: columns may have lost theirs. */
  static Origin place(Expression expression, Origin otherwise) {
    return expression.origin().line().isDefined() ? expression.origin() : otherwise;
  }
}
