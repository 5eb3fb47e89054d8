package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.rewrites.BatchPart.Place;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import scala.Option;

/**
 * Splits a body in complete mode: the streams run to their first aggregates, and what is above them
 * runs as a batch query over the aggregates' whole results.
 *
 * <p>Several aggregates run side by side in one stream, as a union. Each of its rows has the number
 * of its aggregate, and a struct column for each aggregate, of which all but its own are NULL.
 */
final class FirstAggregates {
  private static final String ONE =
      "the stream runs to its first aggregate, and the rest of the query over the aggregate's whole"
          + " result with each batch";
  private static final String SEVERAL =
      "the streams run to their first aggregates, side by side, and the rest of the query over the"
          + " aggregates' whole results with each batch";
  private static final String NUMBER = "__jetsql_aggregate";
  private static final String ROW = "__jetsql_row";

  private final List<Aggregate> aggregates;

  private FirstAggregates(List<Aggregate> aggregates) {
    this.aggregates = aggregates;
  }

  /** Returns the batch part of the body, or null if a stream of it is not below an aggregate. */
  static BatchPart split(LogicalPlan body) {
    var lowest = new ArrayList<Aggregate>();
    collect(body, lowest);
    var below = lowest.stream().mapToInt(FirstAggregates::countStreams).sum();
    if (lowest.isEmpty() || countStreams(body) != below) return null;
    return lowest.size() == 1
        ? new BatchPart(body, lowest.get(0), ONE)
        : new FirstAggregates(lowest).sideBySide(body);
  }

  /** Adds the aggregates of streams that have no aggregate of a stream below them. */
  private static void collect(LogicalPlan node, List<Aggregate> lowest) {
    if (node instanceof Aggregate aggregate
        && node.isStreaming()
        && !Plans.aggregatesStream(aggregate.child())) {
      lowest.add(aggregate);
    } else {
      Plans.list(node.children()).forEach(child -> collect(child, lowest));
    }
  }

  private static int countStreams(LogicalPlan plan) {
    return (int) Plans.list(plan.collectLeaves()).stream().filter(LogicalPlan::isStreaming).count();
  }

  private BatchPart sideBySide(LogicalPlan body) {
    var branches = new ArrayList<LogicalPlan>();
    var places = new ArrayList<Place>();
    for (var number = 0; number < aggregates.size(); number++) {
      var aggregate = aggregates.get(number);
      var at = number;
      branches.add(branch(number));
      places.add(new Place(aggregate, rows -> rowsOf(aggregate, at, rows)));
    }
    return new BatchPart(body, new Union(Sequences.of(branches), false, false), places, SEVERAL);
  }

  private LogicalPlan branch(int number) {
    var columns = new ArrayList<NamedExpression>();
    columns.add(Plans.alias(Literal$.MODULE$.apply(number), NUMBER));
    for (var each = 0; each < aggregates.size(); each++) {
      var row = Plans.struct(aggregates.get(each).output());
      columns.add(
          Plans.alias(each == number ? row : new Literal(null, row.dataType()), ROW + each));
    }
    return new Project(Sequences.of(columns), aggregates.get(number));
  }

  /** Returns the rows of an aggregate with its columns. rows: those of the union */
  private static LogicalPlan rowsOf(Aggregate aggregate, int number, LogicalPlan rows) {
    Expression isOfAggregate = new EqualTo(rows.output().apply(0), Literal$.MODULE$.apply(number));
    var row = rows.output().apply(number + 1);
    var columns = new ArrayList<NamedExpression>();
    for (Attribute column : Plans.list(aggregate.output())) {
      var field = new GetStructField(row, columns.size(), Option.empty());
      columns.add(Plans.renamed(field, column));
    }
    var found = new Project(Sequences.of(columns), new Filter(isOfAggregate, rows));
    return aggregate.groupingExpressions().isEmpty() ? orOfNoRows(aggregate, found) : found;
  }

  /**
   * Returns the row of an aggregate without groups: before the first row of its stream, the result
   * of the aggregate over no rows.
   */
  private static LogicalPlan orOfNoRows(Aggregate aggregate, LogicalPlan found) {
    var none = new LocalRelation(aggregate.child().output(), Sequences.of(), false, Option.empty());
    var ofNoRows = Plans.withNewIds(aggregate.withNewChildren(Sequences.of(none)));
    var unlessFound = new Join(ofNoRows, found, LeftAnti$.MODULE$, Option.empty(), JoinHint.NONE());
    return new Union(Sequences.of(found, unlessFound), false, false);
  }
}
