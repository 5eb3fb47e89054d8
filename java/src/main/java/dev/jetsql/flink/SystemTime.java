package dev.jetsql.flink;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.SparkCalls;
import dev.jetsql.versions.SparkVersion;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedEventTimeWatermark;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampLike;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.plans.Backward$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin$;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * Joins with a table `FOR SYSTEM_TIME AS OF column`. For a processing time, it is a plain join,
 * because each batch reads the table as it is when the batch begins. For an event time and a
 * stream, it is ASOF JOIN by the columns with a WATERMARK. Refuses any other column.
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
      var joined =
          plan.resolveOperatorsUp(
              PartialFunctions.of(
                  node -> node instanceof Join join && relation(join) != null,
                  node -> withFilter((Join) node)));
      var alone = joined.find(Find::hasOption);
      if (alone.isDefined()) throw withoutJoin(alone.get());
      return joined;
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
      while (right instanceof SubqueryAlias
          || right instanceof UnresolvedEventTimeWatermark
          || SparkCalls.isNamedStream(right)) right = right.children().head();
      return hasOption(right) ? (UnresolvedRelation) right : null;
    }

    private static boolean hasOption(LogicalPlan node) {
      return node instanceof UnresolvedRelation relation && relation.options().containsKey(OPTION);
    }

    private static RuntimeException withoutJoin(LogicalPlan relation) {
      return Exceptions.raise(
          JetSqlException.at(
              OptionPositions.after(relation.origin(), CLAUSE, null),
              "UNSUPPORTED_QUERY",
              "0A000",
              "FOR SYSTEM_TIME AS OF a column is possible for the right side of a JOIN only."));
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

  /** Replaces the filters and their joins by joins that Spark or a rewrite can run. */
  public static final class Check extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.resolveOperatorsUp(
          PartialFunctions.of(
              node -> node instanceof Filter filter && isResolvedCheck(filter.condition()),
              node -> joined(plan, (Filter) node)));
    }

    private static boolean isResolvedCheck(Expression condition) {
      return condition instanceof ProcessingTimeCheck check && check.column().resolved();
    }

    private static LogicalPlan joined(LogicalPlan root, Filter filter) {
      var column = ((ProcessingTimeCheck) filter.condition()).column();
      if (isProcessingTime(root, filter.child(), column)) return filter.child();
      var versions = filter.child() instanceof Join join ? timeOfVersions(join) : null;
      if (versions != null && Plans.hasWatermark(column))
        return asOfJoin((Join) filter.child(), column, versions);
      throw refusal(
          column,
          " is not supported: the column is no processing time. For a processing time, write"
              + " PROCTIME(). For an event time, read the versions as a stream, with a WATERMARK on"
              + " both sides"
              + (SparkVersion.isAtLeast(4, 3)
                  ? ", or keep all versions with their times in the table and write ASOF JOIN ..."
                      + " MATCH_CONDITION (...) ON ...."
                  : "."));
    }

    private static RuntimeException refusal(Expression column, String reason) {
      return Exceptions.raise(
          JetSqlException.at(
              column.origin(),
              "UNSUPPORTED_QUERY",
              "0A000",
              "FOR SYSTEM_TIME AS OF " + column.sql() + reason));
    }

    /** Returns the only column with a watermark of the stream that is joined, or null. */
    private static Attribute timeOfVersions(Join join) {
      if (!join.right().isStreaming()) return null;
      var times = Plans.list(join.right().output()).stream().filter(Plans::hasWatermark).toList();
      return times.size() == 1 ? times.get(0) : null;
    }

    private static LogicalPlan asOfJoin(Join join, Expression time, Attribute versions) {
      var type = join.joinType();
      if (!type.equals(Inner$.MODULE$) && !type.equals(LeftOuter$.MODULE$)) {
        throw refusal(
            time,
            " is possible with JOIN and LEFT JOIN only, not with "
                + type.sql()
                + " JOIN: each row of the left side is joined with the version of its time.");
      }
      return AsOfJoin$.MODULE$.apply(
          join.left(),
          join.right(),
          time,
          versions,
          join.condition(),
          join.joinType(),
          Option.empty(),
          true, // also with a version of the same time
          Backward$.MODULE$);
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
