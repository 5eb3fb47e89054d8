package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;

/**
 * Replaces columns of variables and the functions of MATCH_RECOGNIZE before Spark resolves them.
 */
final class MatchFunctions {
  private static final String RUNNING = "RUNNING_";
  private static final String FINAL = "FINAL_";

  private final MatchClause clause;
  private final Expression time;

  /** Creates a replacement. time: the first column of ORDER BY */
  MatchFunctions(MatchClause clause, Expression time) {
    this.clause = clause;
    this.time = time;
  }

  /** Returns an expression with {@link MatchCall}s. Throws errors at their places. */
  Expression replace(Expression expression, boolean isCondition) {
    return expression.transformUp(
        PartialFunctions.<Expression, Expression>of(
            node -> true, node -> replaceNode(node, isCondition)));
  }

  private Expression replaceNode(Expression node, boolean isCondition) {
    if (node instanceof UnresolvedAttribute column) return column(column);
    // Spark's parser knows the functions first and last with one argument.
    if (node instanceof AggregateExpression aggregate) {
      if (aggregate.aggregateFunction() instanceof First first)
        return new MatchCall(MatchCall.Kind.FIRST, null, List.of(first.child()));
      if (aggregate.aggregateFunction() instanceof Last last)
        return new MatchCall(MatchCall.Kind.LAST, null, List.of(last.child()));
    }
    if (node instanceof UnresolvedFunction call && call.nameParts().size() == 1)
      return call(call, isCondition);
    return node;
  }

  private Expression column(UnresolvedAttribute column) {
    var parts = Plans.list(column.nameParts());
    if (parts.size() < 2) return column;
    var variable = parts.get(0).toUpperCase(Locale.ROOT);
    if (clause.variables(variable) == null) return column;
    Expression value = new UnresolvedAttribute(Sequences.of(parts.subList(1, parts.size())));
    return new MatchCall(MatchCall.Kind.COLUMN, variable, List.of(value));
  }

  private Expression call(UnresolvedFunction call, boolean isCondition) {
    var name = call.nameParts().head().toUpperCase(Locale.ROOT);
    var arguments = Plans.list(call.arguments());
    switch (name) {
      case "FIRST", "LAST", "PREV", "NEXT" -> {
        if (arguments.isEmpty() || arguments.size() > 2 || call.isDistinct())
          throw wrong(call, "takes a value, and the number of rows", name + "(A.price, 1)");
        return new MatchCall(MatchCall.Kind.valueOf(name), null, arguments);
      }
      case "CLASSIFIER" -> {
        return classifier(call, arguments);
      }
      case "MATCH_NUMBER" -> {
        if (!arguments.isEmpty()) throw wrong(call, "takes no arguments", "MATCH_NUMBER()");
        return new MatchCall(MatchCall.Kind.MATCH_NUMBER, null, List.of());
      }
      case "MATCH_ROWTIME" -> {
        return new MatchCall(MatchCall.Kind.LAST, null, List.of(time));
      }
      default -> {
        if (name.startsWith(RUNNING) || name.startsWith(FINAL)) return qualified(call, isCondition);
        return withCountedRows(call);
      }
    }
  }

  private Expression classifier(UnresolvedFunction call, List<Expression> arguments) {
    if (arguments.isEmpty()) return new MatchCall(MatchCall.Kind.CLASSIFIER, null, List.of());
    var name =
        arguments.size() == 1 && arguments.get(0) instanceof UnresolvedAttribute variable
            ? variable.nameParts().last().toUpperCase(Locale.ROOT)
            : "";
    if (clause.variables(name) == null)
      throw wrong(call, "takes no arguments, or one variable of PATTERN", "CLASSIFIER()");
    return new MatchCall(MatchCall.Kind.CLASSIFIER, name, List.of());
  }

  /** Returns the call after the word RUNNING or FINAL, which `PatternText` joins to its name. */
  private Expression qualified(UnresolvedFunction call, boolean isCondition) {
    var name = call.nameParts().head();
    var isFinal = name.toUpperCase(Locale.ROOT).startsWith(FINAL);
    if (isFinal && isCondition)
      throw MatchErrors.wrong(
          call.origin(),
          "FINAL is possible in MEASURES only: a condition sees the rows up to its own. Leave it"
              + " out.");
    var plain = name.substring(name.indexOf('_')).replaceFirst("^_+", "");
    UnresolvedFunction function = CaseClasses.copy(call, Map.of("nameParts", Sequences.of(plain)));
    // Spark's parser knows count(*) by its name.
    if (plain.equalsIgnoreCase("count")
        && call.arguments().size() == 1
        && call.arguments().head() instanceof UnresolvedStar star
        && star.target().isEmpty())
      function =
          CaseClasses.copy(
              function, Map.of("arguments", Sequences.<Expression>of(Literal$.MODULE$.apply(1))));
    return new MatchCall(
        isFinal ? MatchCall.Kind.FINAL : MatchCall.Kind.RUNNING,
        null,
        List.of(call(function, isCondition)));
  }

  /** Returns a call with a value for each row of a variable instead of `A.*`. */
  private Expression withCountedRows(UnresolvedFunction call) {
    var arguments = new ArrayList<Expression>();
    for (var argument : Plans.list(call.arguments())) {
      var isOfVariable =
          argument instanceof UnresolvedStar star
              && star.target().isDefined()
              && star.target().get().size() == 1
              && clause.variables(star.target().get().head().toUpperCase(Locale.ROOT)) != null;
      arguments.add(
          isOfVariable
              ? new MatchCall(
                  MatchCall.Kind.COLUMN,
                  ((UnresolvedStar) argument).target().get().head().toUpperCase(Locale.ROOT),
                  List.of(Literal$.MODULE$.apply(1)))
              : argument);
    }
    return arguments.equals(Plans.list(call.arguments()))
        ? call
        : CaseClasses.copy(call, Map.of("arguments", Sequences.of(arguments)));
  }

  private static RuntimeException wrong(UnresolvedFunction call, String reason, String example) {
    return MatchErrors.wrong(
        call.origin(),
        "The function %s of MATCH_RECOGNIZE %s. Write %s."
            .formatted(call.nameParts().head().toUpperCase(Locale.ROOT), reason, example));
  }
}
