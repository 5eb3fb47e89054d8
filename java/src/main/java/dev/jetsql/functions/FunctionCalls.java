package dev.jetsql.functions;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Sequences;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import org.apache.spark.sql.catalyst.analysis.Star;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FunctionTableSubqueryArgumentExpression;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.FunctionSignature;
import org.apache.spark.sql.catalyst.plans.logical.InputParameter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NamedParametersSupport;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.execution.python.UserDefinedPythonTableFunction;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Calls of functions in Python, as Spark's own expressions and plans.
 *
 * <p>Arguments become positional, missing ones get their default values, and each is cast to the
 * type of its parameter.
 */
final class FunctionCalls {
  private final ParserInterface parser;

  FunctionCalls(ParserInterface parser) {
    this.parser = parser;
  }

  Expression call(PythonFunction function, UnresolvedFunction call) {
    if (function.isTable())
      throw wrongUse(function, call.origin(), "returns a table. Call it in FROM.");
    if (call.isDistinct() || call.filter().isDefined() || SparkCalls.handlesNulls(call))
      throw wrongUse(
          function, call.origin(), "is not an aggregate function. Leave out DISTINCT and FILTER.");
    var code =
        SparkCalls.pythonFunction(
            function.name(),
            function.code(),
            function.type(),
            function.evalType(),
            function.isDeterministic());
    return CurrentOrigin.withOrigin(
        call.origin(), () -> code.builder(arguments(function, call.arguments(), call.origin())));
  }

  LogicalPlan call(PythonFunction function, UnresolvedTableValuedFunction call) {
    if (!function.isTable())
      throw wrongUse(function, call.origin(), "returns a single value. Call it in an expression.");
    var code =
        new UserDefinedPythonTableFunction(
            function.name(),
            function.code(),
            (StructType) function.type(),
            function.evalType(),
            function.isDeterministic());
    return CurrentOrigin.withOrigin(
        call.origin(),
        () -> code.builder(arguments(function, call.functionArgs(), call.origin()), () -> parser));
  }

  private Seq<Expression> arguments(PythonFunction function, Seq<Expression> given, Origin origin) {
    var parameters = new ArrayList<InputParameter>();
    for (var each : function.parameters()) {
      parameters.add(new InputParameter(each.name(), defaultValue(each)));
    }
    for (var argument : CollectionConverters.asJava(given)) {
      if (argument instanceof Star)
        throw wrongUse(function, origin, "cannot take `*`. Write the arguments.");
    }
    var signature = new FunctionSignature(Sequences.of(parameters));
    var ordered =
        NamedParametersSupport.defaultRearrange(
            signature, given, function.fullName(), (one, other) -> one.equalsIgnoreCase(other));
    var arguments = new ArrayList<Expression>();
    for (var argument : CollectionConverters.asJava(ordered)) {
      var type = function.parameters().get(arguments.size()).type();
      arguments.add(cast(argument, type));
    }
    return Sequences.of(arguments);
  }

  private Option<Expression> defaultValue(PythonFunction.Parameter parameter) {
    if (parameter.defaultValue() == null) return Option.empty();
    try {
      return Option.apply(parser.parseExpression(parameter.defaultValue()));
    } catch (Exception e) { // a Scala method declares no checked exception
      throw Exceptions.raise(e);
    }
  }

  /** Returns an argument as a value of a type. A table argument stays as it is. */
  static Expression cast(Expression argument, DataType type) {
    if (argument instanceof FunctionTableSubqueryArgumentExpression) return argument;
    return Cast$.MODULE$.apply(argument, type, SQLConf.get().ansiEnabled());
  }

  private static RuntimeException wrongUse(PythonFunction function, Origin origin, String problem) {
    return Exceptions.raise(
        JetSqlException.at(
            origin,
            "WRONG_FUNCTION_CALL",
            "42809",
            "The function " + function.schema() + "." + function.name() + " " + problem));
  }
}
