package dev.jetsql.rights.gates;

import dev.jetsql.plans.Plans;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.analysis.ExpressionWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.PlanWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedGenerator;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.CreateUserDefinedFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Checks the names in the body of a function in SQL that a user creates. Spark resolves them in
 * each call, with the rights and in the schema of the caller, or of a view around the call. A name
 * without a schema could mean a table there that its author may not read.
 */
final class FunctionText extends PlanParts {
  private final Origin origin;

  private FunctionText(Origin origin) {
    this.origin = origin;
  }

  /** Throws the error of a name without a schema, or one that is computed. */
  static void check(SparkSession session, CreateUserDefinedFunction create) {
    var names = new FunctionText(create.origin());
    var parser = session.sessionState().sqlParser();
    try {
      if (create.exprText().isDefined())
        names.visit(parser.parseExpression(create.exprText().get()));
      if (create.queryText().isDefined()) names.visit(parser.parsePlan(create.queryText().get()));
      if (create.inputParamText().isDefined())
        for (var column : parser.parseRoutineParam(create.inputParamText().get()).fields())
          if (column.getCurrentDefaultValue().isDefined())
            names.visit(parser.parseExpression(column.getCurrentDefaultValue().get()));
    } catch (ParseException e) { // Spark reports it, with its place
      return;
    }
  }

  @Override
  boolean enter(LogicalPlan plan) {
    if (plan instanceof UnresolvedRelation table)
      qualified(Plans.list(table.multipartIdentifier()));
    if (plan instanceof PlanWithUnresolvedIdentifier) throw computed();
    if (plan instanceof UnresolvedTableValuedFunction call) called(Plans.list(call.name()));
    return true;
  }

  @Override
  boolean enter(Expression expression) {
    if (expression instanceof ExpressionWithUnresolvedIdentifier) throw computed();
    if (expression instanceof UnresolvedFunction call) called(Plans.list(call.nameParts()));
    if (expression instanceof UnresolvedGenerator call) called(Plans.list(call.name().nameParts()));
    return true;
  }

  private void called(List<String> name) {
    var isBuiltIn = AllowList.FUNCTIONS.has(name.get(0).toLowerCase(Locale.ROOT));
    if (name.size() > 1 || !isBuiltIn) qualified(name);
  }

  private void qualified(List<String> name) {
    if (name.size() > 1) return;
    throw Refusals.notAllowed(
        origin,
        "The body of a function needs the schema of each table and function: write SCHEMA."
            + name.get(0)
            + ". Without it, the name could mean another one for each caller.");
  }

  private RuntimeException computed() {
    return Refusals.onlyAdmin(
        origin, "IDENTIFIER in the body of a function", "it can mean another name for each caller");
  }
}
