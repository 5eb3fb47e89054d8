package dev.jetsql.rewrites;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.SparkCalls;
import java.util.HashSet;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.optimizer.PullupCorrelatedPredicates$;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery$;
import org.apache.spark.sql.catalyst.optimizer.RewriteWithExpression$;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import scala.Option;

/**
 * Replaces EXISTS, NOT EXISTS and IN over streams by joins, with the rules of Spark's optimizer.
 *
 * <p>Spark's analyzer refuses every subquery over a stream, although its optimizer makes these
 * joins, which Spark can stream.
 */
public final class StreamingSubqueries extends Rule<LogicalPlan> {
  private static final String BOUNDS =
      ", with SINK INTO a table with 'key.columns'; or with a WATERMARK on both sides and a bound"
          + " for the time: b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR.";

  private final SparkSession session;

  public StreamingSubqueries(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof InsertIntoDataSourceCommand insert)
      return Plans.withQuery(insert, this::apply);
    if (!plan.containsPattern(TreePattern.PLAN_EXPRESSION())) return plan;
    if (!plan.resolved() && AnalysisContext.get().outerPlan().isEmpty()) checkUnresolved(plan);
    if (!plan.exists(StreamingSubqueries::hasStreamingSubquery) || !hasAllDefinitions(plan))
      return plan;
    return SparkCalls.inlined(plan)
        .resolveOperatorsUp(
            PartialFunctions.of(
                StreamingSubqueries::hasStreamingSubquery, StreamingSubqueries::rewrite));
  }

  /**
   * Throws Spark's error for a name in a subquery over a stream that does not exist. Otherwise
   * Spark would report that the subquery reads a stream.
   */
  private void checkUnresolved(LogicalPlan plan) {
    for (var node : Plans.list(plan.collectWithSubqueries(PartialFunctions.everything()))) {
      for (var expression : Plans.list(node.expressions())) {
        var subquery = streamingSubquery(expression);
        if (subquery == null || subquery.plan().resolved()) continue;
        session.sessionState().analyzer().checkAnalysis(subquery.plan());
      }
    }
  }

  private static boolean hasStreamingSubquery(LogicalPlan node) {
    return node.resolved()
        && Plans.list(node.expressions()).stream()
            .anyMatch(each -> streamingSubquery(each) != null);
  }

  /**
   * Returns whether each WITH that a plan reads is in the plan. Spark also resolves a subquery by
   * itself; this part waits until the whole query is resolved.
   */
  private static boolean hasAllDefinitions(LogicalPlan plan) {
    var defined = new HashSet<Long>();
    var read = new HashSet<Long>();
    for (var node : Plans.list(plan.collectWithSubqueries(PartialFunctions.everything()))) {
      if (node instanceof CTERelationDef definition) defined.add(definition.id());
      if (node instanceof CTERelationRef reference) read.add(reference.cteId());
    }
    return defined.containsAll(read);
  }

  /** Returns the first subquery of an expression that reads a stream, or null. */
  private static SubqueryExpression streamingSubquery(Expression expression) {
    var found =
        expression.find(
            node -> node instanceof SubqueryExpression query && query.plan().isStreaming());
    return found.isDefined() ? (SubqueryExpression) found.get() : null;
  }

  private static LogicalPlan rewrite(LogicalPlan node) {
    if (!(node instanceof Filter filter)) {
      var subquery =
          Plans.list(node.expressions()).stream()
              .filter(each -> streamingSubquery(each) != null)
              .findFirst()
              .orElseThrow();
      throw refusal(subquery);
    }
    if (!filter.child().isStreaming()) {
      throw refusal(
          filter.condition(),
          "Rows of a table cannot be compared with a stream that goes on. Read them with FROM"
              + " STREAM as well"
              + BOUNDS);
    }
    Expression joins = null;
    Expression others = null;
    for (var condition : Plans.conjuncts(filter.condition())) {
      if (streamingSubquery(condition) == null) others = and(others, condition);
      else if (isJoin(condition)) joins = and(joins, withoutLimitedRows(withPlainQuery(condition)));
      else throw refusal(condition);
    }
    var rows = others == null ? filter.child() : new Filter(others, filter.child());
    return joined(rows, joins);
  }

  /** Returns the rows that fulfil a condition of subqueries. */
  private static LogicalPlan joined(LogicalPlan rows, Expression subqueries) {
    // The rules of the optimizer must not see the rest of the query.
    var stub = new LocalRelation(rows.output(), Sequences.of(), rows.isStreaming(), Option.empty());
    var join =
        RewritePredicateSubquery$.MODULE$.apply(
            PullupCorrelatedPredicates$.MODULE$.apply(new Filter(subqueries, stub)));
    return join.transformDown(
        PartialFunctions.<LogicalPlan, LogicalPlan>of(
            node -> node instanceof LocalRelation && node.fastEquals(stub), node -> rows));
  }

  private static Expression and(Expression first, Expression second) {
    return first == null ? second : new And(first, second);
  }

  private static boolean isJoin(Expression condition) {
    var negated = condition instanceof Not not ? not.child() : condition;
    return condition instanceof InSubquery
        || (negated instanceof Exists exists && !exists.outerAttrs().isEmpty());
  }

  /** Returns a condition whose subqueries have no nodes that only the analyzer needs. */
  private static Expression withPlainQuery(Expression condition) {
    return condition.transform(
        PartialFunctions.<Expression, Expression>of(
            SubqueryExpression.class::isInstance,
            node -> {
              var subquery = (SubqueryExpression) node;
              var query = plain(subquery.plan());
              return (Expression)
                  subquery.withNewPlan(subquery instanceof Exists ? withoutLimit(query) : query);
            }));
  }

  /** Returns the query of an EXISTS without ORDER BY and LIMIT, which its result ignores. */
  private static LogicalPlan withoutLimit(LogicalPlan query) {
    var isIgnored =
        query instanceof Sort
            || (query instanceof GlobalLimit limit && isPositive(limit.limitExpr()))
            || (query instanceof LocalLimit limit && isPositive(limit.limitExpr()));
    return isIgnored ? withoutLimit(query.children().head()) : query;
  }

  private static boolean isPositive(Expression limit) {
    return limit instanceof Literal literal
        && literal.value() instanceof Integer number
        && number > 0;
  }

  /**
   * Returns a condition. Throws the refusal of a LIMIT or OFFSET for each row of the outer query.
   */
  private static Expression withoutLimitedRows(Expression condition) {
    if (streamingSubquery(condition).plan().exists(StreamingSubqueries::limitsRowsOfEach))
      throw refusal(
          condition,
          "LIMIT and OFFSET in EXISTS or IN over a stream are not supported, if the subquery"
              + " compares columns with the outer query. Write the subquery without them.");
    return condition;
  }

  private static boolean limitsRowsOfEach(LogicalPlan node) {
    return (node instanceof GlobalLimit || node instanceof LocalLimit || node instanceof Offset)
        && node.exists(
            below ->
                Plans.list(below.expressions()).stream()
                    .anyMatch(each -> each.exists(OuterReference.class::isInstance)));
  }

  private static LogicalPlan plain(LogicalPlan query) {
    // Spark does not find the columns of the outer query within BETWEEN and the like.
    return RewriteWithExpression$.MODULE$.apply(
        ReplaceExpressions$.MODULE$.apply(Plans.withoutNames(query)));
  }

  private static RuntimeException refusal(Expression condition) {
    var negated = condition instanceof Not not ? not.child() : condition;
    if (negated instanceof Exists)
      return refusal(
          condition,
          "EXISTS over a stream must compare a column of the subquery with one of the outer query:"
              + " WHERE EXISTS (SELECT * FROM STREAM b WHERE b.id = a.id)"
              + BOUNDS);
    if (negated instanceof InSubquery)
      return refusal(
          condition,
          "NOT IN over a stream is not supported: a later row with NULL would remove all rows"
              + " that were already written. Write WHERE NOT EXISTS (SELECT * FROM STREAM b WHERE"
              + " b.id = a.id)"
              + BOUNDS);
    return refusal(
        condition,
        "A subquery over a stream is supported as a condition of WHERE, alone or with AND:"
            + " EXISTS, NOT EXISTS or IN. For other values of a stream, write a join.");
  }

  private static RuntimeException refusal(Expression condition, String message) {
    var place = streamingSubquery(condition).origin();
    return Exceptions.raise(JetSqlException.at(place, "UNSUPPORTED_QUERY", "0A000", message));
  }
}
