package dev.jetsql.functions;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.versions.SparkCalls;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PythonFuncExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The functions in Python of an engine, for all sessions of this JVM.
 *
 * <p>The engine (Python) stores them and sends them here when they change, so that resolving a name
 * needs no call of Python.
 */
public final class PythonFunctions {
  static final String CATALOG = "spark_catalog";

  private static final Map<Name, PythonFunction> functions = new ConcurrentHashMap<>();

  private PythonFunctions() {}

  /** A name as it is compared. */
  private record Name(String schema, String name) {
    static Name of(String schema, String name) {
      return new Name(schema.toLowerCase(Locale.ROOT), name.toLowerCase(Locale.ROOT));
    }
  }

  /** Removes all functions. */
  public static void clear() {
    functions.clear();
  }

  /** Adds a function, or replaces the one with its name. */
  public static void put(String facts, byte[] command) {
    var function = PythonFunction.of(Json.read(facts), command);
    functions.put(Name.of(function.schema(), function.name()), function);
  }

  /** Removes a function, if it exists. */
  public static void remove(String schema, String name) {
    functions.remove(Name.of(schema, name));
  }

  /** Adds the functions in Python that expressions call, with their fingerprints by name. */
  public static void collect(List<Expression> expressions, ObjectNode fingerprints) {
    for (var expression : expressions) {
      for (var part :
          CollectionConverters.asJava(expression.collect(PartialFunctions.everything()))) {
        if (part instanceof PythonFuncExpression call
            && call.func() instanceof PythonFunction.Stored code)
          fingerprints.put(code.name(), code.fingerprint());
      }
    }
  }

  /**
   * Returns the qualified name of the function that an expression calls, or null if it calls none
   * of these functions.
   */
  public static List<String> called(Expression expression) {
    return expression instanceof PythonFuncExpression call
            && call.func() instanceof PythonFunction.Stored code
        ? code.qualifiedName()
        : null;
  }

  /**
   * Returns a call in a form whose text has the fingerprint of the function. The text of Spark's
   * own expression has a number that differs in each analysis.
   */
  public static PythonUDF withFingerprint(PythonUDF call) {
    var name = call.func() instanceof PythonFunction.Stored code ? code.label() : call.name();
    return call.copy(
        name,
        call.func(),
        call.dataType(),
        call.children(),
        call.evalType(),
        call.udfDeterministic(),
        ExprId.apply(0));
  }

  static boolean isEmpty() {
    return functions.isEmpty();
  }

  static PythonFunction find(String schema, String name) {
    return functions.get(Name.of(schema, name));
  }

  static Collection<PythonFunction> all() {
    return List.copyOf(functions.values());
  }

  static void drop(SparkSession session, String schema, String name, boolean ifExists) {
    var request = Map.of("schema", schema, "name", name, "if_exists", ifExists);
    EngineCallback.DROP_FUNCTION.ask(session, request);
  }

  /** Returns a type as Spark writes it: {"sql", "json"}. Throws Spark's error for another text. */
  public static String type(String text) {
    DataType type = StructType.fromDDL("c " + text).apply(0).dataType();
    return Json.write(Map.of("sql", type.sql(), "json", type.json()));
  }

  /**
   * Checks that an expression can be the default value of a parameter. Throws Spark's error
   * otherwise.
   */
  public static void checkDefault(
      org.apache.spark.sql.classic.SparkSession session, String text, String type) {
    var state = session.sessionState();
    try {
      var value =
          FunctionCalls.cast(state.sqlParser().parseExpression(text), DataType.fromDDL(type));
      NamedExpression column =
          new Alias(
              value,
              "value",
              NamedExpression.newExprId(),
              Sequences.of(),
              Option.empty(),
              Sequences.of());
      var plan = new Project(Sequences.of(column), new OneRowRelation());
      state.analyzer().executeAndCheck(plan, new QueryPlanningTracker(Option.empty()));
    } catch (Exception e) { // Scala methods declare no checked exceptions
      throw Exceptions.raise(e);
    }
  }

  /** Returns "SCHEMA" if there is no such schema, "FUNCTION" if Spark has this function, or "". */
  public static String conflict(
      org.apache.spark.sql.classic.SparkSession session, String schema, String name) {
    var catalog = session.sessionState().catalog();
    if (!catalog.databaseExists(schema)) return "SCHEMA";
    var identifier = new FunctionIdentifier(name, Option.apply(schema), Option.apply(CATALOG));
    return catalog.isPersistentFunction(identifier) ? "FUNCTION" : "";
  }

  /** Returns whether a built-in function has this name, so that the bare name means that one. */
  public static boolean isBuiltin(org.apache.spark.sql.classic.SparkSession session, String name) {
    var catalog = session.sessionState().catalog();
    return SparkCalls.isBuiltin(catalog, name)
        || catalog.lookupBuiltinOrTempTableFunction(name).isDefined();
  }
}
