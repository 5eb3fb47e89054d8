package dev.jetsql.flink;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedEventTimeWatermark;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FunctionTableSubqueryArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.SessionWindow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.types.CalendarIntervalType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.unsafe.types.CalendarInterval;

/**
 * A call of a table function of windows.
 *
 * @param kind the function
 * @param node the call in the statement, with the clauses of its stream
 * @param rows the table or query of the first argument
 * @param partitions the columns of its PARTITION BY
 * @param time the column in DESCRIPTOR
 * @param intervals the remaining arguments in the order of {@link Kind#intervals}, in microseconds
 */
record WindowCall(
    Kind kind,
    LogicalPlan node,
    LogicalPlan rows,
    List<Expression> partitions,
    UnresolvedAttribute time,
    List<Long> intervals) {
  /** The functions with the names of their intervals, of which OFFSET may be left out. */
  enum Kind {
    TUMBLE("SIZE", "OFFSET"),
    HOP("SLIDE", "SIZE", "OFFSET"),
    SESSION("GAP"),
    CUMULATE("STEP", "SIZE", "OFFSET"),
    IMPOSE_ORDER("LAG");

    @SuppressWarnings("ImmutableEnumChecker") // List.of makes an immutable list
    private final List<String> intervals;

    Kind(String... intervals) {
      this.intervals = List.of(intervals);
    }

    /** Returns the function with a name, or null. */
    static Kind of(String name) {
      for (var kind : values()) {
        if (kind.name().equalsIgnoreCase(name)) return kind;
      }
      return null;
    }

    private String usage() {
      var usage = new StringBuilder(name() + "(TABLE name, DESCRIPTOR(column)");
      for (var interval : intervals) {
        var argument = ", INTERVAL '1' MINUTE";
        usage.append(interval.equals("OFFSET") ? "[" + argument + "]" : argument);
      }
      return usage + ")";
    }
  }

  /** Returns whether a node can be a call. */
  static boolean canBe(LogicalPlan node) {
    return node instanceof UnresolvedTableValuedFunction || isClauseOfStream(node);
  }

  /**
   * Returns the call, or null for any other node. Each call has DESCRIPTOR among its arguments.
   * Throws errors at the call.
   */
  static WindowCall of(LogicalPlan node) {
    if (!isClauseOfStream(node))
      return node instanceof UnresolvedTableValuedFunction call ? of(call) : null;
    var call = of(node.children().head());
    return call == null
        ? null
        : new WindowCall(
            call.kind,
            node,
            node.withNewChildren(Sequences.of(call.rows)),
            call.partitions,
            call.time,
            call.intervals);
  }

  /** Returns whether a node is a clause of STREAM, such as WATERMARK: it applies to the rows. */
  private static boolean isClauseOfStream(LogicalPlan node) {
    return SparkCalls.isNamedStream(node) || node instanceof UnresolvedEventTimeWatermark;
  }

  private static WindowCall of(UnresolvedTableValuedFunction call) {
    var kind = call.name().size() == 1 ? Kind.of(call.name().head()) : null;
    if (kind == null || Plans.list(call.functionArgs()).stream().noneMatch(WindowCall::isTime))
      return null;
    if (kind == Kind.CUMULATE) {
      throw refused(
          call,
          "The table function CUMULATE is not supported: Spark has no window of this kind. Write"
              + " TUMBLE with the step, and add up its results in the query that reads them.");
    }
    return new Arguments(kind, call).read();
  }

  private static boolean isTime(Expression argument) {
    var value = argument instanceof NamedArgumentExpression named ? named.value() : argument;
    return value instanceof UnresolvedFunction function
        && function.nameParts().size() == 1
        && function.nameParts().head().equalsIgnoreCase(WindowFunctions.DESCRIPTOR);
  }

  /** Returns Spark's window of a session. */
  Expression session() {
    var gap = new CalendarInterval(0, 0, intervals.get(0));
    return new SessionWindow(time, new Literal(gap, DataTypes.CalendarIntervalType));
  }

  /** Returns the lengths of the windows of TUMBLE and HOP. */
  WindowLengths lengths() {
    var lengths = intervals.subList(0, kind.intervals.size() - 1);
    var offset = intervals.get(lengths.size());
    // Flink expects the slide before the size and other systems after it. The size is the longer.
    return new WindowLengths(Collections.max(lengths), Collections.min(lengths), offset);
  }

  /** Returns the error of SESSION in a query that does not group by its windows. */
  RuntimeException sessionWithoutGroups() {
    return refused(
        function(),
        "SESSION is supported only in a query with GROUP BY window_start, window_end: Spark knows"
            + " the end of a session only as the key of a group.");
  }

  /** Returns the error of SESSION in a query with other keys than those of the sessions. */
  RuntimeException otherKeys() {
    var columns = partitions.isEmpty() ? "none" : Plans.texts(Sequences.of(partitions));
    return refused(
        function(),
        "The columns in GROUP BY other than window_start and window_end must be those in PARTITION"
            + " BY of SESSION ("
            + columns
            + "): Spark makes one session of each group.");
  }

  private LogicalPlan function() {
    var function = node;
    while (isClauseOfStream(function)) function = function.children().head();
    return function;
  }

  private static RuntimeException refused(LogicalPlan call, String message) {
    return Exceptions.raise(
        JetSqlException.at(call.origin(), "UNSUPPORTED_QUERY", "0A000", message));
  }

  /** The arguments of a call. */
  private static final class Arguments {
    private final Kind kind;
    private final UnresolvedTableValuedFunction call;
    private final Map<String, Expression> byName = new HashMap<>();

    Arguments(Kind kind, UnresolvedTableValuedFunction call) {
      this.kind = kind;
      this.call = call;
      var names = new ArrayList<>(List.of("DATA", "TIMECOL"));
      names.addAll(kind.intervals);
      var position = 0;
      for (var argument : Plans.list(call.functionArgs())) {
        var named = argument instanceof NamedArgumentExpression value ? value : null;
        if (named == null && position == names.size()) throw wrong("has too many arguments");
        var name = named == null ? names.get(position++) : named.key().toUpperCase(Locale.ROOT);
        if (!names.contains(name)) throw wrong("has no argument " + name);
        if (byName.put(name, named == null ? argument : named.value()) != null)
          throw wrong("has the argument " + name + " twice");
      }
    }

    WindowCall read() {
      if (!(byName.get("DATA") instanceof FunctionTableSubqueryArgumentExpression data))
        throw wrong("needs a table as its first argument");
      if (!(byName.get("TIMECOL") instanceof UnresolvedFunction descriptor)
          || !isTime(descriptor)
          || descriptor.arguments().size() != 1
          || !(descriptor.arguments().head() instanceof UnresolvedAttribute time))
        throw wrong("needs DESCRIPTOR with one column as its second argument");
      var partitions = Plans.list(data.partitionByExpressions());
      if (!data.orderByExpressions().isEmpty() || data.withSinglePartition())
        throw wrong("takes a table without ORDER BY");
      if (!partitions.isEmpty() && kind != Kind.SESSION)
        throw wrong("takes a table without PARTITION BY");
      var intervals = new ArrayList<Long>();
      for (var name : kind.intervals) intervals.add(microseconds(name));
      return new WindowCall(kind, call, rows(data.plan()), partitions, time, intervals);
    }

    private LogicalPlan rows(LogicalPlan plan) {
      if (!call.isStreaming()) return plan;
      var table = plan;
      while (table instanceof SubqueryAlias alias) table = alias.child();
      if (!(table instanceof UnresolvedRelation relation))
        throw wrong("after STREAM takes the name of a table. Write STREAM into the query");
      return CurrentOrigin.withOrigin(
          relation.origin(),
          () -> relation.copy(relation.multipartIdentifier(), relation.options(), true));
    }

    private long microseconds(String name) {
      var value = byName.get(name);
      if (value == null && name.equals("OFFSET")) return 0;
      if (value == null) throw wrong("needs the argument " + name);
      if (value instanceof Literal literal && literal.value() != null) {
        var microseconds = microseconds(literal);
        if (microseconds != null && (microseconds > 0 || name.equals("OFFSET")))
          return microseconds;
      }
      throw wrong("needs an interval of days to seconds above zero as its argument " + name);
    }

    private static Long microseconds(Literal literal) {
      if (literal.dataType() instanceof DayTimeIntervalType) return (Long) literal.value();
      if (!(literal.dataType() instanceof CalendarIntervalType)) return null;
      var interval = (CalendarInterval) literal.value();
      return interval.months == 0 ? interval.microseconds + interval.days * 86_400_000_000L : null;
    }

    private RuntimeException wrong(String reason) {
      return refused(
          call, "The table function " + kind + " " + reason + ". Write " + kind.usage() + ".");
    }
  }
}
