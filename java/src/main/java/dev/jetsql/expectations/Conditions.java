package dev.jetsql.expectations;

import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Origins;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.CurrentTimes;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RowJson;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.BooleanType$;
import scala.Option;

/** The conditions of rules, resolved over the columns of the rows that they check. */
public final class Conditions {
  private Conditions() {}

  /**
   * Resolves the conditions of rules, and returns the columns that they read.
   *
   * @param columns the columns of the rows
   * @param rules the rules as a JSON array, see `Expectation`
   * @param facts receives for each rule why it is refused, as an object with a kind and a detail,
   *     or null
   */
  public static List<Attribute> describe(
      SparkSession session, List<Attribute> columns, String rules, ArrayNode facts) {
    var read = new ArrayList<Attribute>();
    for (var rule : Expectation.read(rules)) {
      var resolved = resolve(session, columns, rule);
      var refused = refusal(session, rule, resolved);
      if (refused == null && rule.is(Expectation.INTO_TABLE) && !RowJson.isPossible(columns))
        refused = new Refusal("json", "");
      if (refused == null) facts.addNull();
      else facts.addObject().put("kind", refused.kind()).put("detail", refused.detail());
      if (refused == null) addColumns(condition(resolved), read);
    }
    return read;
  }

  private static void addColumns(Expression condition, List<Attribute> read) {
    condition.foreach(
        part -> {
          if (part instanceof Attribute column) read.add(column);
          return null;
        });
  }

  /** Returns the condition of a rule that is not refused. */
  static Expression of(SparkSession session, List<Attribute> columns, Expectation rule) {
    return condition(resolve(session, columns, rule));
  }

  /** Calls a function with each rule and its condition. rules: not refused, see `describe` */
  public static void forEach(
      SparkSession session,
      List<Attribute> columns,
      String rules,
      BiConsumer<Expectation, Expression> function) {
    for (var rule : Expectation.read(rules)) function.accept(rule, of(session, columns, rule));
  }

  private static Expression condition(LogicalPlan resolved) {
    return ((Alias) ((Project) resolved).projectList().head()).child();
  }

  /** Returns the condition as the only column of rows with these columns. */
  private static LogicalPlan resolve(
      SparkSession session, List<Attribute> columns, Expectation rule) {
    var state = session.sessionState();
    var rows = new LocalRelation(Sequences.of(columns), Sequences.of(), false, Option.empty());
    try {
      var condition = Plans.alias(parse(session, rule), "condition");
      return state
          .analyzer()
          .executeAndCheck(
              new Project(Sequences.of(condition), rows), new QueryPlanningTracker(Option.empty()));
    } catch (Exception e) { // a Scala method declares no checked exception
      throw Exceptions.raise(withPosition(e, rule));
    }
  }

  private static Expression parse(SparkSession session, Expectation rule) {
    try {
      return session.sessionState().sqlParser().parseExpression(rule.text());
    } catch (ParseException e) {
      throw Exceptions.raise(e);
    }
  }

  private static Exception withPosition(Exception error, Expectation rule) {
    if (!(error instanceof AnalysisException analysis)
        || analysis.line().isDefined()
        || analysis.getQueryContext().length > 0) return error;
    return analysis.withPosition(Origins.at(rule.line(), rule.column()));
  }

  private record Refusal(String kind, String detail) {}

  /** Returns why a condition cannot check a row on its own, or null. */
  private static Refusal refusal(SparkSession session, Expectation rule, LogicalPlan resolved) {
    // Spark's parser accepts a name after an expression, also AND of a condition without its end.
    if (parse(session, rule) instanceof Alias named) return new Refusal("name", named.name());
    if (resolved.exists(Aggregate.class::isInstance)) return new Refusal("aggregate", "");
    if (resolved.exists(Window.class::isInstance)) return new Refusal("window", "");
    if (resolved.exists(Generate.class::isInstance)) return new Refusal("generator", "");
    if (!(resolved instanceof Project project) || !(project.child() instanceof LocalRelation))
      return new Refusal("function", "");
    var condition = condition(resolved);
    if (condition.exists(SubqueryExpression.class::isInstance)) return new Refusal("subquery", "");
    if (condition.exists(PythonUDF.class::isInstance)) return new Refusal("python", "");
    var variable = condition.find(VariableReference.class::isInstance);
    if (variable.isDefined()) return new Refusal("variable", variable.get().sql());
    var time = condition.find(CurrentTimes::isCurrent);
    if (time.isDefined()) return new Refusal("varying", time.get().sql());
    if (!condition.deterministic()) return new Refusal("varying", innermost(condition).sql());
    return condition.dataType() instanceof BooleanType$
        ? null
        : new Refusal("type", condition.dataType().sql());
  }

  private static Expression innermost(Expression varying) {
    for (var child : Plans.list(varying.children()))
      if (!child.deterministic()) return innermost(child);
    return varying;
  }
}
