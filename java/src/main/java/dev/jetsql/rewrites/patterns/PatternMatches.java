package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LateralJoin;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Resolves MATCH_RECOGNIZE, which `PatternText` has written as a lateral join with a call.
 *
 * <p>The first rule reads the clause, in which Spark's analyzer then resolves names, functions and
 * types. The second rule makes the operator.
 */
public final class PatternMatches {
  private PatternMatches() {}

  /** Replaces the calls. It must run before Spark resolves the names of functions. */
  public static final class Find extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.resolveOperatorsUp(
          PartialFunctions.of(
              node -> node instanceof LateralJoin join && call(join) != null,
              node -> matched((LateralJoin) node)));
    }

    private static UnresolvedTableValuedFunction call(LateralJoin join) {
      var call = join.right().plan().find(ClauseReader::isClause);
      return call.isDefined() ? (UnresolvedTableValuedFunction) call.get() : null;
    }

    private static LogicalPlan matched(LateralJoin join) {
      var call = call(join);
      // In FROM a JOIN b MATCH_RECOGNIZE (...) ON ..., Spark has read the join first.
      if (join.left() instanceof Join outer && outer.condition().isEmpty())
        return new Join(
            outer.left(),
            withAlias(join, ClauseReader.read(call, outer.right())),
            outer.joinType(),
            join.condition(),
            JoinHint.NONE());
      if (join.left() instanceof Join)
        throw MatchErrors.unsupported(
            ClauseReader.placeOf(call.origin()),
            "MATCH_RECOGNIZE reads one table. Write FROM (SELECT ... JOIN ...) MATCH_RECOGNIZE"
                + " (...).");
      if (join.condition().isDefined())
        throw MatchErrors.wrong(
            join.condition().get().origin(), "ON needs a JOIN before MATCH_RECOGNIZE.");
      return withAlias(join, ClauseReader.read(call, join.left()));
    }

    private static LogicalPlan withAlias(LateralJoin join, UnresolvedMatch match) {
      var child = match.child();
      while (child instanceof SubqueryAlias alias) child = alias.child();
      if (child instanceof UnresolvedMatch)
        throw MatchErrors.unsupported(
            match.clause().origin(),
            "MATCH_RECOGNIZE cannot directly follow another one. Write FROM (SELECT * FROM ..."
                + " MATCH_RECOGNIZE (...)) MATCH_RECOGNIZE (...).");
      return join.right()
          .plan()
          .transformUp(
              PartialFunctions.<LogicalPlan, LogicalPlan>of(ClauseReader::isClause, node -> match));
    }
  }

  /** Replaces the clauses whose expressions are resolved by the operator. */
  public static final class Resolve extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.resolveOperatorsUp(
          PartialFunctions.of(
              node -> node instanceof UnresolvedMatch match && match.child().resolved(),
              node -> resolved((UnresolvedMatch) node)));
    }

    private static LogicalPlan resolved(UnresolvedMatch match) {
      for (var part : Plans.list(match.parts())) checkNames(match, part);
      var areResolved = Plans.list(match.parts()).stream().allMatch(Expression::resolved);
      return areResolved
          ? CurrentOrigin.withOrigin(
              match.clause().origin(), () -> new ResolvedClause(match).plan())
          : match;
    }

    /** Refuses a name with a qualifier that is neither a variable nor a column. */
    private static void checkNames(UnresolvedMatch match, Expression part) {
      part.foreach(
          node -> {
            if (node instanceof UnresolvedAttribute name
                && name.nameParts().size() > 1
                && match.child().resolve(name.nameParts(), SQLConf.get().resolver()).isEmpty())
              throw MatchErrors.wrong(
                  name.origin(),
                  "%s is no column: %s is no variable of PATTERN. Its variables are %s."
                      .formatted(
                          name.name(),
                          name.nameParts().head(),
                          String.join(", ", match.clause().pattern().variables())));
            return null;
          });
    }
  }

  /** A clause with resolved expressions. */
  private static final class ResolvedClause {
    private final UnresolvedMatch match;
    private final MatchClause clause;
    private final LogicalPlan rows;
    private final List<Expression> parts;
    private final List<Attribute> columns;

    ResolvedClause(UnresolvedMatch written) {
      // The operator evaluates expressions as they are after Spark's optimizer has replaced calls.
      this.match =
          (UnresolvedMatch)
              Plans.withoutReplaceable(
                  written.withNewChildInternal(Plans.streamLike(written.child())));
      this.clause = match.clause();
      this.rows = written.child();
      this.parts = Plans.list(match.parts());
      this.columns = read();
    }

    private List<Expression> keys() {
      return parts.subList(0, clause.keys());
    }

    private List<Expression> orders() {
      return parts.subList(clause.keys(), clause.keys() + clause.orders());
    }

    private List<Expression> measures() {
      int from = clause.keys() + clause.orders();
      return parts.subList(from, from + clause.measures().size());
    }

    private List<Expression> conditions() {
      return parts.subList(parts.size() - clause.defined().size(), parts.size());
    }

    /** Returns the columns that the match reads. */
    private List<Attribute> read() {
      var all = Plans.list(rows.output());
      if (clause.allRows()) return all;
      return all.stream()
          .filter(column -> parts.stream().anyMatch(part -> part.references().contains(column)))
          .toList();
    }

    LogicalPlan plan() {
      check();
      var variables = new ArrayList<>(clause.pattern().variables());
      var values = new MatchValues(clause, variables, columns);
      var conditions = new ArrayList<Expression>();
      for (var variable : variables) {
        int at = clause.defined().indexOf(variable);
        conditions.add(at < 0 ? null : values.bind(conditions().get(at)));
      }
      var measures = new ArrayList<Expression>();
      for (var measure : measures()) measures.add(values.bind(measure));
      var keys = indexes(keys());
      var orders = orders().stream().map(SortOrder.class::cast).toList();
      var orderColumns = indexes(orders.stream().map(SortOrder::child).toList());
      var before = new LinkedHashSet<>(keys);
      if (clause.allRows()) before.addAll(orderColumns);
      var after = new ArrayList<Integer>();
      for (int i = 0; clause.allRows() && i < columns.size(); i++)
        if (!before.contains(i)) after.add(i);
      var plan =
          new MatchPlan(
              clause.pattern(),
              variables,
              new ArrayList<>(values.columns()),
              new ArrayList<>(values.values()),
              conditions,
              measures,
              clause.allRows(),
              clause.skip(),
              clause.skipTo().stream().map(variables::indexOf).sorted().toList(),
              clause.withinMicros(),
              keys,
              orderColumns,
              new ArrayList<>(orders),
              new ArrayList<>(before),
              after,
              clause.text().strip());
      return withResults(plan);
    }

    private LogicalPlan withResults(MatchPlan plan) {
      var results = new ArrayList<Attribute>();
      for (int column : plan.before()) results.add(result(columns.get(column)));
      for (int i = 0; i < measures().size(); i++)
        results.add(result(clause.measures().get(i), measures().get(i).dataType()));
      for (int column : plan.after()) results.add(result(columns.get(column)));
      var input = input(plan);
      var matched = new MatchedRows(input, plan, input.output(), Sequences.of(results));
      // Spark gives new ids to the columns of projections, if the rows are read twice.
      var named = new ArrayList<NamedExpression>();
      for (var result : results) named.add(Plans.alias(result, result.name()));
      return new Project(Sequences.of(named), matched);
    }

    /** Returns the rows with the columns that are read; equal keys have equal bytes. */
    private LogicalPlan input(MatchPlan plan) {
      var named = new ArrayList<NamedExpression>();
      for (int i = 0; i < columns.size(); i++) {
        var column = columns.get(i);
        var isFloating =
            column.dataType() instanceof DoubleType || column.dataType() instanceof FloatType;
        named.add(
            isFloating && plan.keys().contains(i)
                ? Plans.alias(EqualKey.unmarked(column), column.name())
                : column);
      }
      return new Project(Sequences.of(named), rows);
    }

    private static AttributeReference result(Attribute column) {
      return result(column.name(), column.dataType());
    }

    private static AttributeReference result(String name, DataType type) {
      return new AttributeReference(
          name, type, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Sequences.of());
    }

    private List<Integer> indexes(List<? extends Expression> names) {
      var ids = columns.stream().map(Attribute::exprId).toList();
      var indexes = new ArrayList<Integer>();
      for (var name : names) {
        if (!(name instanceof Attribute column))
          throw MatchErrors.unsupported(
              MatchValues.place(name, clause.origin()),
              "PARTITION BY and ORDER BY of MATCH_RECOGNIZE take columns only, no fields of them."
                  + " Compute this value in a subquery.");
        indexes.add(ids.indexOf(column.exprId()));
      }
      return indexes;
    }

    private void check() {
      for (int i = 0; i < conditions().size(); i++) {
        var condition = conditions().get(i);
        if (!(condition.dataType() instanceof BooleanType))
          throw MatchErrors.wrong(
              MatchValues.place(condition, clause.origin()),
              "The condition of %s in DEFINE has the type %s. Write a comparison."
                  .formatted(clause.defined().get(i), condition.dataType().sql()));
      }
      var order = (SortOrder) orders().get(0);
      var time = order.child();
      if (clause.withinMicros() > 0
          && !(time.dataType() instanceof TimestampType)
          && !(time.dataType() instanceof TimestampNTZType))
        throw MatchErrors.wrong(
            MatchValues.place(order, clause.origin()),
            "WITHIN needs a TIMESTAMP as the first column of ORDER BY. %s is a %s."
                .formatted(Plans.text(time), time.dataType().sql()));
      if (rows.isStreaming() && !order.isAscending())
        throw MatchErrors.unsupported(
            MatchValues.place(order, clause.origin()),
            "MATCH_RECOGNIZE takes the rows of a stream in the order of their times. Write ORDER"
                + " BY %s without DESC.".formatted(Plans.text(time)));
      if (rows.isStreaming() && !Watermarks.isOn(time, rows))
        throw MatchErrors.unsupported(
            MatchValues.place(order, clause.origin()),
            "%s has no WATERMARK, without which it is unknown when all rows up to a time have"
                    .formatted(Plans.text(time))
                + " arrived. Write FROM STREAM name WATERMARK %s DELAY OF INTERVAL 5 SECONDS"
                    .formatted(Plans.text(time))
                + " MATCH_RECOGNIZE (...).");
    }
  }
}
