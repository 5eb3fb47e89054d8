package dev.jetsql.flink;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.rewrites.Plans;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampLike;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Joins with a table `FOR SYSTEM_TIME AS OF column`, where the column is a processing time: a plain
 * join, because each batch reads the table as it is when the batch begins. Refuses any other
 * column, such as an event time.
 *
 * <p>The column is an option of the table, see {@link FlinkText}. The first rule turns it into a
 * filter of the join, where Spark resolves the name. The second rule finds out which value the
 * column has, and removes the filter.
 */
public final class SystemTime {
  private static final String OPTION = "as_of";
  private static final String CLAUSE = "WITH(" + OPTION;

  private SystemTime() {}

  /**
   * Returns the option, not longer than Flink's clause without the white space before the column.
   */
  static String option(String column) {
    return CLAUSE + "='" + column + "')";
  }

  /** Turns the option into a filter. It must run before the names of tables are resolved. */
  public static final class Find extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.resolveOperatorsUp(
          PartialFunctions.of(
              node -> node instanceof Join join && relation(join) != null,
              node -> withFilter((Join) node)));
    }

    private static LogicalPlan withFilter(Join join) {
      var relation = relation(join);
      var column =
          CurrentOrigin.withOrigin(
              OptionPositions.after(relation.origin(), CLAUSE, null),
              () -> new UnresolvedAttribute(parts(relation.options().get(OPTION))));
      var plain =
          join.right()
              .transform(
                  PartialFunctions.<LogicalPlan, LogicalPlan>of(
                      node -> node == relation, node -> withoutOption(relation)));
      return new Filter(
          new ProcessingTimeCheck(column),
          join.copy(join.left(), plain, join.joinType(), join.condition(), join.hint()));
    }

    /** Returns the table of a join with the option, or null. */
    private static UnresolvedRelation relation(Join join) {
      var right = join.right();
      while (right instanceof SubqueryAlias alias) right = alias.child();
      return right instanceof UnresolvedRelation relation && relation.options().containsKey(OPTION)
          ? relation
          : null;
    }

    private static scala.collection.immutable.Seq<String> parts(String name) {
      return UnresolvedAttribute$.MODULE$.parseAttributeName(name);
    }

    private static LogicalPlan withoutOption(UnresolvedRelation relation) {
      var options = new HashMap<>(relation.options().asCaseSensitiveMap());
      options.remove(OPTION);
      return CurrentOrigin.withOrigin(
          relation.origin(),
          () ->
              relation.copy(
                  relation.multipartIdentifier(),
                  new CaseInsensitiveStringMap(options),
                  relation.isStreaming()));
    }
  }

  /** Removes the filters whose columns are processing times, and refuses the others. */
  public static final class Check extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.resolveOperatorsUp(
          PartialFunctions.of(
              node -> node instanceof Filter filter && isResolvedCheck(filter.condition()),
              node -> withoutFilter(plan, (Filter) node)));
    }

    private static boolean isResolvedCheck(Expression condition) {
      return condition instanceof ProcessingTimeCheck check && check.column().resolved();
    }

    private static LogicalPlan withoutFilter(LogicalPlan root, Filter filter) {
      var column = ((ProcessingTimeCheck) filter.condition()).column();
      if (isProcessingTime(root, filter.child(), column)) return filter.child();
      throw Exceptions.raise(
          JetSqlException.at(
              column.origin(),
              "UNSUPPORTED_QUERY",
              "0A000",
              "FOR SYSTEM_TIME AS OF "
                  + column.sql()
                  + " is not supported: the column is no processing time. For a processing time,"
                  + " write PROCTIME(). For an event time, keep all versions with their times in"
                  + " the table and write ASOF JOIN ... MATCH_CONDITION (...) ON ...."));
    }

    private static boolean isProcessingTime(LogicalPlan root, LogicalPlan plan, Expression value) {
      if (value instanceof CurrentTimestampLike || value instanceof LocalTimestamp) return true;
      if (!(value instanceof Attribute column)) return false;
      var definition = definition(root, plan, column.exprId());
      return definition != null && isProcessingTime(root, plan, definition);
    }

    /** Returns the expression of which a column is the name, or null. */
    private static Expression definition(LogicalPlan root, LogicalPlan plan, ExprId id) {
      for (var node : nodes(plan)) {
        for (var expression : Plans.list(node.expressions())) {
          if (expression instanceof Alias alias && alias.exprId().equals(id)) return alias.child();
        }
        if (node instanceof CTERelationRef read) {
          for (var at = 0; at < read.output().size(); at++) {
            if (read.output().apply(at).exprId().equals(id)) return columnOf(root, read, at);
          }
        }
      }
      return null;
    }

    /** Returns the column of a WITH that is read, or null. */
    private static Expression columnOf(LogicalPlan root, CTERelationRef read, int at) {
      for (var node : nodes(root)) {
        if (node instanceof CTERelationDef with && with.id() == read.cteId()) {
          var column = with.output().apply(at);
          var definition = definition(root, with.child(), column.exprId());
          return definition == null ? column : definition;
        }
      }
      return null;
    }

    private static List<LogicalPlan> nodes(LogicalPlan plan) {
      return Plans.list(plan.collect(PartialFunctions.<LogicalPlan>everything()));
    }
  }
}
