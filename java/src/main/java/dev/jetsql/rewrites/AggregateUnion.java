package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import scala.Option;

/**
 * Several aggregates of streams as one: an aggregate over the UNION ALL of their inputs, which has
 * the number of the aggregate in each row and groups by it.
 */
final class AggregateUnion {
  private static final String MEANING =
      "the stream runs to its %d first aggregates, and the rest of the query over their whole result"
          + " with each batch";

  /** The parts of one aggregate in the union. */
  private static final class Part {
    final Aggregate aggregate;
    final List<AggregateExpression> functions = new ArrayList<>();

    /** The inputs of its branch: the keys, then the columns that the functions read. */
    final List<Expression> inputs = new ArrayList<>();

    /** The columns of the union that have the inputs. */
    final List<Attribute> columns = new ArrayList<>();

    /** The columns of the common aggregate that have the results of the functions. */
    final List<Attribute> results = new ArrayList<>();

    Part(Aggregate aggregate) {
      this.aggregate = aggregate;
      inputs.addAll(keys());
      for (var expression : Plans.list(aggregate.aggregateExpressions())) {
        var found =
            Plans.list(
                ((Expression) expression).collect(PartialFunctions.<Expression, AggregateExpression>of(
                    AggregateExpression.class::isInstance, AggregateExpression.class::cast)));
        functions.addAll(found);
      }
      for (var function : functions) {
        for (var column : Plans.list(function.references().toSeq())) {
          if (inputs.stream().noneMatch(column::semanticEquals)) inputs.add(column);
        }
      }
    }

    List<Expression> keys() {
      return Plans.list(aggregate.groupingExpressions());
    }

    /** Replaces each key and each input column by its column of the union. */
    Expression overUnion(Expression expression) {
      return replace(expression, inputs, columns);
    }

    /** Replaces the functions by their results, and the keys by their columns of the union. */
    Expression overResults(Expression expression) {
      return replace(replace(expression, functions, results), keys(), columns);
    }

    private static Expression replace(
        Expression expression, List<? extends Expression> from, List<Attribute> to) {
      return expression.transformDown(
          PartialFunctions.<Expression, Expression>of(
              each -> indexOf(from, each) >= 0, each -> to.get(indexOf(from, each))));
    }

    private static int indexOf(List<? extends Expression> expressions, Expression searched) {
      for (int i = 0; i < expressions.size(); i++) {
        if (expressions.get(i).semanticEquals(searched)) return i;
      }
      return -1;
    }
  }

  private final List<Part> parts;
  private final Attribute number;
  private final Aggregate union;

  private AggregateUnion(List<Part> parts) {
    this.parts = parts;
    var rows = new Union(Sequences.of(branches()), false, false);
    var columns = new ArrayList<>(Plans.list(rows.output()));
    this.number = columns.remove(0);
    for (var part : parts) {
      for (int i = 0; i < part.inputs.size(); i++) part.columns.add(columns.remove(0));
    }
    this.union = aggregate(rows);
  }

  static AggregateUnion of(List<Aggregate> aggregates) {
    return new AggregateUnion(aggregates.stream().map(Part::new).toList());
  }

  /** Returns the body's part above the aggregates, which get their rows from the union. */
  BatchPart batchPart(LogicalPlan body) {
    var replacements = new IdentityHashMap<LogicalPlan, UnaryOperator<LogicalPlan>>();
    for (int i = 0; i < parts.size(); i++) {
      var isPart = is(i);
      var part = parts.get(i);
      replacements.put(part.aggregate, rows -> result(part, new Filter(isPart, rows)));
    }
    return new BatchPart(body, union, replacements, MEANING.formatted(parts.size()));
  }

  /** Returns a branch of the union for each part: its number, its inputs, and NULL for others. */
  private List<LogicalPlan> branches() {
    var branches = new ArrayList<LogicalPlan>();
    for (int i = 0; i < parts.size(); i++) {
      var columns = new ArrayList<NamedExpression>();
      columns.add(named(Literal$.MODULE$.apply(i), "part"));
      for (var part : parts) {
        var isOwn = part == parts.get(i);
        for (var input : part.inputs) {
          var value = isOwn ? input : Literal$.MODULE$.create(null, input.dataType());
          columns.add(named(value, "c" + columns.size()));
        }
      }
      branches.add(new Project(Sequences.of(columns), parts.get(i).aggregate.child()));
    }
    return branches;
  }

  private static Alias named(Expression value, String name) {
    return Plans.alias(value, name, NamedExpression$.MODULE$.newExprId());
  }

  private Expression is(int part) {
    return new EqualTo(number, Literal$.MODULE$.apply(part));
  }

  private Aggregate aggregate(LogicalPlan rows) {
    var keys = new ArrayList<Attribute>();
    keys.add(number);
    parts.forEach(part -> keys.addAll(part.columns.subList(0, part.keys().size())));
    var outputs = new ArrayList<NamedExpression>(keys);
    for (int i = 0; i < parts.size(); i++) {
      for (var function : parts.get(i).functions) {
        var result = named(withFilter(parts.get(i), function, is(i)), "r" + outputs.size());
        outputs.add(result);
        parts.get(i).results.add(result.toAttribute());
      }
    }
    var grouping = keys.stream().map(Expression.class::cast).toList();
    return new Aggregate(Sequences.of(grouping), Sequences.of(outputs), rows, Option.empty());
  }

  private static Expression withFilter(Part part, AggregateExpression function, Expression isPart) {
    var own = function.filter();
    var filter = own.isEmpty() ? isPart : new And(isPart, part.overUnion(own.get()));
    var moved =
        (org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction)
            part.overUnion(function.aggregateFunction());
    return AggregateExpression$.MODULE$.apply(
        moved, Complete$.MODULE$, function.isDistinct(), Option.apply(filter));
  }

  /** Returns the rows of one aggregate. rows: those of the union with its number */
  private static LogicalPlan result(Part part, LogicalPlan rows) {
    var input = part.keys().isEmpty() ? withEmptyResult(part, rows) : rows;
    var columns = new ArrayList<NamedExpression>();
    for (var output : Plans.list(part.aggregate.aggregateExpressions())) {
      columns.add(Plans.renamed(part.overResults(unaliased(output)), output));
    }
    return new Project(Sequences.of(columns), input);
  }

  private static Expression unaliased(NamedExpression output) {
    return output instanceof Alias alias ? alias.child() : (Expression) output;
  }

  /** Adds the row that an aggregate without GROUP BY returns for no rows. */
  private static LogicalPlan withEmptyResult(Part part, LogicalPlan rows) {
    var columns = new ArrayList<NamedExpression>();
    for (int i = 0; i < part.results.size(); i++) {
      var result = part.results.get(i);
      var only =
          AggregateExpression$.MODULE$.apply(
              new First(result, false), Complete$.MODULE$, false, Option.empty());
      var ofNone = part.functions.get(i).aggregateFunction().defaultResult();
      var value =
          ofNone.isEmpty() ? only : new Coalesce(Sequences.of(List.<Expression>of(only, ofNone.get())));
      columns.add(Plans.renamed(value, result));
    }
    return new Aggregate(Sequences.of(), Sequences.of(columns), rows, Option.empty());
  }
}
