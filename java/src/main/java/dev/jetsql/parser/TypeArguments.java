package dev.jetsql.parser;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Refuses a type that is nested too deep in an argument of a function, see {@link StatementLimits}.
 *
 * <p>Spark parses it when it resolves the function, with a parser that no extension can replace. It
 * took more than five minutes for 20,000 levels, and no client could cancel that. The argument may
 * be computed, so the text of the statement does not show the type.
 */
public final class TypeArguments extends AbstractFunction1<Seq<Expression>, Expression> {
  private static final List<String> FUNCTIONS =
      List.of("from_csv", "from_json", "from_xml", "try_variant_get", "variant_get");

  private final Function1<Seq<Expression>, Expression> builder;

  private TypeArguments(Function1<Seq<Expression>, Expression> builder) {
    this.builder = builder;
  }

  /** Adds the check to Spark's functions that have a type as an argument. */
  public static void inject(SparkSessionExtensions extensions) {
    var functions = FunctionRegistry$.MODULE$.builtin();
    for (var name : FUNCTIONS) {
      var id = new FunctionIdentifier(name);
      var checked = new TypeArguments(functions.lookupFunctionBuilder(id).get());
      extensions.injectFunction(new Tuple3<>(id, functions.lookupFunction(id).get(), checked));
    }
  }

  @Override
  public Expression apply(Seq<Expression> arguments) {
    CollectionConverters.asJava(arguments).stream()
        .skip(1)
        .filter(argument -> argument.foldable() && argument.resolved())
        .forEach(TypeArguments::check);
    return builder.apply(arguments);
  }

  private static void check(Expression argument) {
    if (!(argument.eval(null) instanceof UTF8String type)) return;
    try {
      StatementLimits.check(type.toString());
    } catch (Exception e) {
      var message = "A type in the arguments of the function is nested too deep.";
      throw Exceptions.raise(JetSqlException.of("STATEMENT_TOO_COMPLEX", "54001", message));
    }
  }
}
