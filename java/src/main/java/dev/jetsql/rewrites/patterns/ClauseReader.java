package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.OptionPositions;
import dev.jetsql.common.Sequences;
import dev.jetsql.patterns.PatternParser;
import dev.jetsql.patterns.RowPattern;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.types.CalendarIntervalType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * Reads MATCH_RECOGNIZE from the arguments of the call as which `PatternText` writes it: texts that
 * begin with MARK, and the expressions between them.
 */
final class ClauseReader {
  /** The name of the function. */
  static final String NAME = "__";

  /** The first character of texts that begin a clause. */
  static final char MARK = '§';

  private static final String JOIN = "JOIN LATERAL " + NAME;

  private final Origin place;
  private final List<Expression> arguments;
  private int at;
  private final List<Expression> keys = new ArrayList<>();
  private final List<Expression> orders = new ArrayList<>();
  private final List<Expression> measures = new ArrayList<>();
  private final List<String> measureNames = new ArrayList<>();
  private final Map<String, Expression> conditions = new LinkedHashMap<>();
  private final Map<String, Set<String>> subsets = new LinkedHashMap<>();
  private boolean allRows;
  private MatchClause.Skip skip = MatchClause.Skip.PAST_LAST_ROW;
  private UnresolvedAttribute skipTo;
  private String text;
  private RowPattern pattern;
  private long withinMicros;

  private ClauseReader(UnresolvedTableValuedFunction call) {
    this.place = placeOf(call.origin());
    this.arguments = Plans.list(call.functionArgs());
  }

  /** Returns the place of the word MATCH_RECOGNIZE, near that of the call. */
  static Origin placeOf(Origin call) {
    if (call.startIndex().isEmpty()) return call;
    var before = Math.max(0, (Integer) call.startIndex().get() - JOIN.indexOf(NAME));
    var from =
        new Origin(
            call.line(),
            call.startPosition(),
            Option.apply(before),
            call.stopIndex(),
            call.sqlText(),
            call.objectType(),
            call.objectName(),
            call.stackTrace(),
            call.pysparkErrorContext(),
            call.positionMapper());
    return OptionPositions.after(from, JOIN, null);
  }

  /** Returns whether a node is the call as which MATCH_RECOGNIZE is written. */
  static boolean isClause(LogicalPlan node) {
    return node instanceof UnresolvedTableValuedFunction call
        && call.name().size() == 1
        && call.name().head().equals(NAME)
        && !call.functionArgs().isEmpty()
        && mark(call.functionArgs().head()) != null;
  }

  /** Returns the match of the clause over the rows of a plan. Throws errors at their places. */
  static UnresolvedMatch read(UnresolvedTableValuedFunction call, LogicalPlan rows) {
    return new ClauseReader(call).read(rows);
  }

  private UnresolvedMatch read(LogicalPlan rows) {
    while (at < arguments.size()) readClause(next());
    if (orders.isEmpty())
      throw wrong("MATCH_RECOGNIZE needs ORDER BY with the column of the time. Add it.");
    checkPattern();
    if (conditions.isEmpty())
      throw wrong("MATCH_RECOGNIZE needs DEFINE. Add DEFINE A AS condition at its end.");
    checkSkip();
    var clause =
        new MatchClause(
            place,
            text,
            pattern,
            subsets,
            keys.size(),
            orders.size(),
            measureNames,
            List.copyOf(conditions.keySet()),
            allRows,
            skip,
            skipTo == null ? Set.of() : variables(skipTo),
            withinMicros);
    var functions = new MatchFunctions(clause, ((SortOrder) orders.get(0)).child());
    var all = new ArrayList<Expression>(keys);
    all.addAll(orders);
    for (var measure : measures) all.add(functions.replace(measure, false));
    for (var condition : conditions.values()) all.add(functions.replace(condition, true));
    return CurrentOrigin.withOrigin(
        place, () -> new UnresolvedMatch(rows, clause, Sequences.of(all)));
  }

  private void readClause(Expression first) {
    var words = List.of(mark(first).split(" "));
    switch (words.get(0)) {
      case "P" -> readKeys();
      case "O" -> readOrders();
      case "M" -> readMeasures();
      case "A" -> {
        allRows = true;
        if (words.contains("UNMATCHED"))
          throw MatchErrors.unsupported(
              first.origin(),
              "WITH UNMATCHED ROWS is not supported. Leave it out, and join the result with the"
                  + " rows.");
      }
      case "S" -> readSkip(words);
      case "R" -> readPattern();
      case "W" -> withinMicros = micros(next());
      case "U" -> readSubsets();
      case "D" -> readConditions();
      default -> allRows = false;
    }
  }

  private void readKeys() {
    while (hasExpression()) {
      var key = next();
      if (!(key instanceof UnresolvedAttribute))
        throw MatchErrors.unsupported(
            key.origin(),
            "PARTITION BY of MATCH_RECOGNIZE takes columns only. Compute this value in a subquery:"
                + " FROM (SELECT *, ... AS k FROM ...) MATCH_RECOGNIZE (PARTITION BY k ...).");
      keys.add(key);
    }
  }

  private void readOrders() {
    while (hasExpression()) {
      var by = next();
      if (!(by instanceof UnresolvedAttribute))
        throw MatchErrors.unsupported(
            by.origin(),
            "ORDER BY of MATCH_RECOGNIZE takes columns only. Compute this value in a subquery.");
      var options = new HashSet<String>();
      while (hasExpression() && arguments.get(at) instanceof Literal)
        options.add(((Literal) next()).value().toString());
      var isAscending = !options.contains("D");
      var isNullFirst = options.contains("F") || (isAscending && !options.contains("L"));
      orders.add(
          CurrentOrigin.withOrigin(
              by.origin(),
              () ->
                  new SortOrder(
                      by,
                      isAscending ? Ascending$.MODULE$ : Descending$.MODULE$,
                      isNullFirst ? NullsFirst$.MODULE$ : NullsLast$.MODULE$,
                      Sequences.of())));
    }
  }

  private void readMeasures() {
    while (hasExpression()) {
      measures.add(next());
      measureNames.add(name(next(), "A measure needs a name after AS."));
    }
  }

  private void readSkip(List<String> words) {
    if (words.contains("PAST")) return;
    if (words.contains("NEXT")) {
      skip = MatchClause.Skip.TO_NEXT_ROW;
      return;
    }
    skip = words.contains("FIRST") ? MatchClause.Skip.TO_FIRST : MatchClause.Skip.TO_LAST;
    var variable = next();
    name(variable, "AFTER MATCH SKIP TO needs the name of a variable.");
    skipTo = (UnresolvedAttribute) variable;
  }

  private void readPattern() {
    var literal = (Literal) next();
    text = literal.value().toString();
    try {
      pattern = PatternParser.parse(text);
    } catch (PatternParser.WrongPattern e) {
      // The text begins after the quote.
      throw MatchErrors.wrong(
          MatchErrors.within(literal.origin(), " " + text, e.offset() + 1), e.getMessage());
    }
    if (pattern.matchesNoRows())
      throw MatchErrors.unsupported(
          MatchErrors.within(literal.origin(), " " + text, 1),
          "PATTERN matches no rows as well, which is not supported: each row would begin an empty"
              + " match. Require a row, such as A+ for A*.");
  }

  private static long micros(Expression interval) {
    if (interval instanceof Literal literal && literal.value() != null) {
      var type = literal.dataType();
      long micros = 0;
      if (type instanceof DayTimeIntervalType) micros = (Long) literal.value();
      else if (type instanceof CalendarIntervalType) {
        var calendar = (CalendarInterval) literal.value();
        if (calendar.months == 0) micros = calendar.microseconds + calendar.days * 86_400_000_000L;
      }
      if (micros > 0) return micros;
    }
    throw MatchErrors.wrong(
        interval.origin(),
        "WITHIN needs an interval of days to seconds above zero. Write WITHIN INTERVAL '1' HOUR.");
  }

  private void readSubsets() {
    checkPattern();
    while (hasExpression()) {
      var subset = next();
      if (!(subset instanceof EqualTo equal)
          || !(equal.left() instanceof UnresolvedAttribute named)
          || named.nameParts().size() != 1)
        throw MatchErrors.wrong(
            subset.origin(), "SUBSET needs names of variables. Write SUBSET u = (A, B).");
      var name = named.nameParts().head().toUpperCase(Locale.ROOT);
      var variables = new HashSet<String>();
      for (var part : partsOf(equal.right())) {
        if (!(part instanceof UnresolvedAttribute variable)
            || variable.nameParts().size() != 1
            || !pattern.variables().contains(upper(variable))) throw unknown(part);
        variables.add(upper(variable));
      }
      if (pattern.variables().contains(name) || subsets.put(name, variables) != null)
        throw MatchErrors.wrong(
            subset.origin(),
            "The name %s of SUBSET is used twice. Choose another.".formatted(name));
    }
  }

  /** Returns the variables of a SUBSET, which Spark reads as a row or as one value. */
  private static List<Expression> partsOf(Expression list) {
    if (list instanceof CreateNamedStruct row) return Plans.list(row.valExprs());
    return Plans.list(list.children()).isEmpty() ? List.of(list) : Plans.list(list.children());
  }

  /** Refuses a clause without PATTERN, which has the variables of the clauses after it. */
  private void checkPattern() {
    if (pattern == null)
      throw wrong("MATCH_RECOGNIZE needs PATTERN. Add PATTERN (A B) before DEFINE.");
  }

  private void readConditions() {
    checkPattern();
    while (hasExpression()) {
      var variable = next();
      var name =
          name(variable, "DEFINE needs the name of a variable before AS.").toUpperCase(Locale.ROOT);
      if (!pattern.variables().contains(name)) throw unknown(variable);
      if (conditions.put(name, next()) != null)
        throw MatchErrors.wrong(
            variable.origin(),
            "DEFINE has %s twice. Join its conditions with AND.".formatted(name));
    }
  }

  private RuntimeException unknown(Expression variable) {
    return MatchErrors.wrong(
        variable.origin(),
        "%s is no variable of PATTERN. Its variables are %s."
            .formatted(Plans.text(variable), String.join(", ", pattern.variables())));
  }

  private Set<String> variables(UnresolvedAttribute name) {
    var found = MatchClause.variables(upper(name), pattern, subsets);
    if (found == null) throw unknown(name);
    return found;
  }

  /** Refuses a SKIP TO that could fail, or begin the same match again without an end. */
  private void checkSkip() {
    if (skipTo == null) return;
    var variables = variables(skipTo);
    var isFirst = skip == MatchClause.Skip.TO_FIRST;
    if (pattern.lacks(variables))
      throw MatchErrors.unsupported(
          skipTo.origin(),
          "A match can be without %s, so the next one could not begin there. Require it in PATTERN,"
                  .formatted(upper(skipTo))
              + " or write AFTER MATCH SKIP PAST LAST ROW.");
    if (isFirst ? pattern.beginsWith(variables) : pattern.endsAtFirst(variables))
      throw MatchErrors.unsupported(
          skipTo.origin(),
          "%s can be the first row of the match, which would begin again without an end. Write"
                  .formatted(upper(skipTo))
              + " AFTER MATCH SKIP TO NEXT ROW.");
  }

  private static String name(Expression name, String otherwise) {
    if (!(name instanceof UnresolvedAttribute attribute) || attribute.nameParts().size() != 1)
      throw MatchErrors.wrong(name.origin(), otherwise + " Put other words in back quotes.");
    return attribute.nameParts().head();
  }

  private static String upper(UnresolvedAttribute name) {
    return name.nameParts().last().toUpperCase(Locale.ROOT);
  }

  private boolean hasExpression() {
    return at < arguments.size() && mark(arguments.get(at)) == null;
  }

  private Expression next() {
    return arguments.get(at++);
  }

  /** Returns the text after MARK, or null for any other expression. */
  private static String mark(Expression expression) {
    return expression instanceof Literal literal
            && literal.value() instanceof UTF8String value
            && value.toString().startsWith(String.valueOf(MARK))
        ? value.toString().substring(1)
        : null;
  }

  private RuntimeException wrong(String message) {
    return MatchErrors.wrong(place, message);
  }
}
