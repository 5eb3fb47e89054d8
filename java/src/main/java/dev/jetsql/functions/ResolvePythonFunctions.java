package dev.jetsql.functions;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.versions.SparkCalls;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunctionName;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.CreateFunction;
import org.apache.spark.sql.catalyst.plans.logical.CreateUserDefinedFunction;
import org.apache.spark.sql.catalyst.plans.logical.DescribeFunction;
import org.apache.spark.sql.catalyst.plans.logical.DropFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NoopCommand;
import org.apache.spark.sql.catalyst.plans.logical.RefreshFunction;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Resolves the names of functions in Python, in queries and in Spark's statements about functions.
 *
 * <p>A bare name is looked up as Spark does: built-in and temporary functions first, then the
 * current schema, or the schema of the view that contains the call.
 */
public final class ResolvePythonFunctions extends Rule<LogicalPlan> {
  private final SparkSession session;

  public ResolvePythonFunctions(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (PythonFunctions.isEmpty()) return plan;
    refuseCreation(plan);
    DroppedSchemas.check(plan);
    var command = command(plan);
    if (command != null) return command;
    return plan.resolveOperatorsDown(PartialFunctions.of(node -> true, this::resolve));
  }

  private LogicalPlan resolve(LogicalPlan node) {
    var resolved = node;
    if (node instanceof UnresolvedTableValuedFunction call) {
      var function = find(call.name());
      if (function != null && !call.isStreaming()) resolved = calls().call(function, call);
    }
    return resolved.transformExpressionsUp(
        PartialFunctions.<Expression, Expression>of(
            UnresolvedFunction.class::isInstance,
            expression -> {
              var call = (UnresolvedFunction) expression;
              var function = find(call.nameParts());
              return function == null ? call : calls().call(function, call);
            }));
  }

  private FunctionCalls calls() {
    return new FunctionCalls(session.sessionState().sqlParser());
  }

  /** Returns the command for a statement about a function in Python, otherwise null. */
  private LogicalPlan command(LogicalPlan plan) {
    if (!(plan instanceof DescribeFunction
        || plan instanceof DropFunction
        || plan instanceof RefreshFunction)) return null;
    var child = plan.children().head();
    PythonFunction function = null;
    if (child instanceof UnresolvedFunctionName name) function = find(name.multipartIdentifier());
    if (child instanceof UnresolvedIdentifier name) function = inSchema(name.nameParts());
    if (function == null) return null;
    if (plan instanceof DescribeFunction describe)
      return DescribePythonFunction.of(function, describe.isExtended());
    if (plan instanceof DropFunction drop)
      return new DropPythonFunction(function.schema(), function.name(), drop.ifExists());
    return new NoopCommand("REFRESH FUNCTION", Sequences.of());
  }

  /**
   * Refuses a function of Spark with the name of a function in Python, and a SQL function that
   * calls one: Spark searches for it in its own catalog.
   */
  private void refuseCreation(LogicalPlan plan) {
    if (!(plan instanceof CreateFunction || plan instanceof CreateUserDefinedFunction)) return;
    if (plan instanceof CreateUserDefinedFunction sql) refuseCalls(sql);
    if (!(plan.children().head() instanceof UnresolvedIdentifier name)) return;
    var function = inSchema(name.nameParts());
    if (function == null) return;
    throw Exceptions.raise(
        JetSqlException.at(
            name.origin(),
            "FUNCTION_ALREADY_EXISTS",
            "42723",
            "A function named "
                + function.schema()
                + "."
                + function.name()
                + " already exists, in Python. Use DROP FUNCTION first."));
  }

  private void refuseCalls(CreateUserDefinedFunction create) {
    var parser = session.sessionState().sqlParser();
    try {
      if (create.exprText().isDefined())
        refuseCall(parser.parseExpression(create.exprText().get()));
      if (create.queryText().isDefined()) {
        var nodes =
            parser
                .parsePlan(create.queryText().get())
                .collectWithSubqueries(PartialFunctions.<LogicalPlan>everything());
        for (var node : CollectionConverters.asJava(nodes)) {
          CollectionConverters.asJava(node.expressions()).forEach(this::refuseCall);
        }
      }
    } catch (Exception e) { // Scala methods declare no checked exceptions
      throw Exceptions.raise(e);
    }
  }

  private void refuseCall(Expression expression) {
    for (var part :
        CollectionConverters.asJava(expression.collect(PartialFunctions.everything()))) {
      var function = part instanceof UnresolvedFunction call ? find(call.nameParts()) : null;
      if (function == null) continue;
      throw Exceptions.raise(
          JetSqlException.of(
              "NOT_SUPPORTED",
              "0A000",
              "A SQL function cannot call "
                  + function.schema()
                  + "."
                  + function.name()
                  + ", which is in Python. Call it in a view or in the query."));
    }
  }

  private PythonFunction find(Seq<String> name) {
    var function = inSchema(name);
    if (function == null || name.size() > 1) return function;
    var catalog = session.sessionState().catalog();
    var isSparks =
        catalog.lookupBuiltinOrTempFunction(name.last()).isDefined()
            || catalog.lookupBuiltinOrTempTableFunction(name.last()).isDefined();
    return isSparks ? null : function;
  }

  /** Returns the function with a name, in the current schema for a bare name, or null. */
  private PythonFunction inSchema(Seq<String> name) {
    if (name.size() == 3) {
      return name.head().equalsIgnoreCase(PythonFunctions.CATALOG)
          ? PythonFunctions.find(name.apply(1), name.last())
          : null;
    }
    if (name.size() > 3) return null;
    for (var entry : CollectionConverters.asJava(SparkCalls.functionPath(session))) {
      if (entry.size() != 2 || !entry.head().equalsIgnoreCase(PythonFunctions.CATALOG)) continue;
      if (name.size() == 2) return PythonFunctions.find(name.head(), name.last());
      var function = PythonFunctions.find(entry.last(), name.last());
      if (function != null) return function;
      var identifier =
          new FunctionIdentifier(
              name.last(), Option.apply(entry.last()), Option.apply(PythonFunctions.CATALOG));
      if (session.sessionState().catalog().isPersistentFunction(identifier)) return null;
    }
    return null;
  }
}
