package dev.jetsql.flink;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedEventTimeWatermark;
import org.apache.spark.sql.catalyst.analysis.UnresolvedExtractValue;
import org.apache.spark.sql.catalyst.analysis.UnresolvedHaving;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStarExceptOrReplace;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.WindowTime;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.unsafe.types.CalendarInterval;
import scala.Option;

/**
 * Resolves Flink's table functions of windows, TUMBLE, HOP and SESSION, to Spark's window() and
 * session_window(), and Hazelcast's IMPOSE_ORDER to a watermark.
 *
 * <p>A query that groups by window_start or window_end groups by Spark's window itself, so that
 * Spark can close its groups in each output mode. In any other query, they are columns of the rows.
 */
public final class WindowFunctions extends Rule<LogicalPlan> {
  /** The function around the name of the column with the time. */
  static final String DESCRIPTOR = "DESCRIPTOR";

  private static final String START = "window_start";
  private static final String END = "window_end";
  private static final String TIME = "window_time";
  private static final Set<String> COLUMNS = caseInsensitive(START, END, TIME);

  /** The column with the window of a row. */
  static final String WINDOW = "__jetsql_window";

  static boolean isName(String word) {
    return WindowCall.Kind.of(word) != null;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsDown(
        PartialFunctions.of(
            node ->
                node instanceof UnresolvedHaving
                    || node instanceof Aggregate
                    || WindowCall.canBe(node),
            WindowFunctions::resolve));
  }

  private static LogicalPlan resolve(LogicalPlan node) {
    if (node instanceof UnresolvedHaving having && having.child() instanceof Aggregate aggregate) {
      var grouping = Grouping.of(aggregate);
      return grouping == null
          ? having
          : having.copy(grouping.replaceColumns(having.havingCondition()), grouping.aggregate());
    }
    if (node instanceof Aggregate aggregate) {
      var grouping = Grouping.of(aggregate);
      return grouping == null ? aggregate : grouping.aggregate();
    }
    var call = WindowCall.of(node);
    return call == null ? node : withColumns(call);
  }

  /** Returns the rows of a call with the columns of their windows. */
  private static LogicalPlan withColumns(WindowCall call) {
    if (call.kind() == WindowCall.Kind.IMPOSE_ORDER) {
      var delay = new CalendarInterval(0, 0, call.intervals().get(0));
      return new UnresolvedEventTimeWatermark((NamedExpression) call.time(), delay, call.rows());
    }
    if (call.kind() == WindowCall.Kind.SESSION) throw call.sessionWithoutGroups();
    NamedExpression others =
        new UnresolvedStarExceptOrReplace(
            Option.empty(), Sequences.of(Sequences.of(WINDOW)), Option.empty());
    return new Project(
        Sequences.of(
            others,
            Plans.alias(field("start"), START),
            Plans.alias(field("end"), END),
            Plans.alias(new WindowTime(window()), TIME)),
        withWindow(call));
  }

  /** Returns the rows of a call with their windows, in the column WINDOW. */
  private static LogicalPlan withWindow(WindowCall call) {
    if (call.kind() != WindowCall.Kind.SESSION)
      return new UnresolvedWindows(call.rows(), call.time(), call.lengths());
    NamedExpression star = new UnresolvedStar(Option.empty());
    return new Project(Sequences.of(star, Plans.alias(call.session(), WINDOW)), call.rows());
  }

  private static Expression window() {
    return new UnresolvedAttribute(Sequences.of(WINDOW));
  }

  private static Expression field(String name) {
    return new UnresolvedExtractValue(window(), Literal$.MODULE$.apply(name));
  }

  private static Set<String> caseInsensitive(String... names) {
    var set = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
    set.addAll(Set.of(names));
    return set;
  }

  private static boolean isColumn(Expression expression) {
    return expression instanceof UnresolvedAttribute column
        && COLUMNS.contains(column.nameParts().last());
  }

  private static String name(Expression column) {
    return ((UnresolvedAttribute) column).nameParts().last();
  }

  /**
   * An aggregate by the window of a call.
   *
   * @param original the aggregate by window_start or window_end
   * @param call the call whose rows it aggregates
   */
  private record Grouping(Aggregate original, WindowCall call) {
    /** Returns the grouping of an aggregate, or null if it does not group by a window. */
    static Grouping of(Aggregate aggregate) {
      var call = callBelow(aggregate.child());
      if (call == null || call.kind() == WindowCall.Kind.IMPOSE_ORDER) return null;
      var grouping = new Grouping(aggregate, call);
      if (call.kind() == WindowCall.Kind.SESSION) grouping.checkSession();
      return grouping.isByWindow() ? grouping : null;
    }

    private static WindowCall callBelow(LogicalPlan plan) {
      if (plan instanceof SubqueryAlias alias) return callBelow(alias.child());
      if (plan instanceof Filter filter) {
        var call = callBelow(filter.child());
        var needsColumns =
            call != null
                && call.kind() != WindowCall.Kind.SESSION
                && filter.condition().exists(WindowFunctions::isColumn);
        return needsColumns ? null : call;
      }
      return WindowCall.of(plan);
    }

    /** Returns whether START or END is a key. TIME is a column of the rows only. */
    private boolean isByWindow() {
      var keys = Plans.list(original.groupingExpressions());
      var readsTime =
          Plans.list(original.expressions()).stream()
              .anyMatch(each -> each.exists(part -> isColumn(part) && isTime(part)));
      return keys.stream().anyMatch(WindowFunctions::isColumn) && !readsTime;
    }

    private static boolean isTime(Expression column) {
      return name(column).equalsIgnoreCase(TIME);
    }

    /** Refuses a session whose keys are not the keys of the groups: Spark has no such sessions. */
    private void checkSession() {
      var keys =
          Plans.list(original.groupingExpressions()).stream()
              .filter(key -> !isColumn(key))
              .map(Grouping::text)
              .collect(Collectors.toSet());
      var partitions = call.partitions().stream().map(Grouping::text).collect(Collectors.toSet());
      if (!isByWindow()) throw call.sessionWithoutGroups();
      if (!keys.equals(partitions)) throw call.otherKeys();
    }

    private static String text(Expression key) {
      return key instanceof UnresolvedAttribute column
          ? column.nameParts().last().toLowerCase(Locale.ROOT)
          : key.sql();
    }

    LogicalPlan aggregate() {
      var keys = new ArrayList<Expression>();
      for (var key : Plans.list(original.groupingExpressions())) {
        if (!isColumn(key)) keys.add(key);
      }
      keys.add(window());
      var results = new ArrayList<NamedExpression>();
      for (var result : Plans.list(original.aggregateExpressions())) {
        var replaced = replaceColumns((Expression) result);
        results.add(
            isColumn((Expression) result)
                ? Plans.alias(replaced, name((Expression) result))
                : (NamedExpression) replaced);
      }
      return original.copy(
          Sequences.of(keys), Sequences.of(results), rows(original.child()), original.hint());
    }

    /** Returns an expression with the fields of the window instead of START and END. */
    Expression replaceColumns(Expression expression) {
      return expression.transform(
          PartialFunctions.<Expression, Expression>of(
              WindowFunctions::isColumn,
              column -> field(name(column).equalsIgnoreCase(START) ? "start" : "end")));
    }

    /** Returns the child of the aggregate with the rows in the place of the call. */
    private LogicalPlan rows(LogicalPlan plan) {
      return plan == call.node()
          ? withWindow(call)
          : plan.withNewChildren(Sequences.of(rows(plan.children().head())));
    }
  }
}
