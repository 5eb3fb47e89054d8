package dev.jetsql.parser;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.NameParameterizedQuery;
import org.apache.spark.sql.catalyst.analysis.PosParameterizedQuery;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Statements with parameter markers. Python passes all values in one call, as JSON, and they become
 * literals here.
 *
 * <p>Spark's own cast converts the text of a value, so that it equals the same literal in a
 * statement. The forms: {"type": DDL, "value": text or null}, {"array": [...]}, {"map": [key,
 * value, ...]}, {"struct": [[name, value], ...]}.
 */
public final class Parameters {
  private Parameters() {}

  /**
   * Runs a statement.
   *
   * @param parameters a JSON array (values of `?`) or object (of `:name`)
   */
  public static Dataset<Row> run(SparkSession session, String text, String parameters) {
    var values = Json.read(parameters);
    var columns = literals(session, values);
    if (values.isArray()) return session.sql(text, (Object[]) columns.toArray(new Column[0]));
    Map<String, Object> named = new HashMap<>();
    var names = values.fieldNames();
    columns.forEach(column -> named.put(names.next(), column));
    return session.sql(text, named);
  }

  /**
   * Returns values as the texts of literals, for a statement of JetSQL: a JSON array or object of
   * strings.
   */
  public static String texts(SparkSession session, String parameters) {
    var values = Json.read(parameters);
    var texts =
        literals(session, values).stream()
            .map(column -> text(ExpressionUtils.expression(column)))
            .toList();
    if (values.isArray()) return Json.write(texts);
    var named = new HashMap<String, String>();
    var names = values.fieldNames();
    texts.forEach(text -> named.put(names.next(), text));
    return Json.write(named);
  }

  /**
   * Returns whether parameters come from a client, not from EXECUTE IMMEDIATE, which binds them.
   */
  static boolean areOfClient(ParameterContext parameters) {
    return parameters instanceof NamedParameterContext
        || parameters instanceof PositionalParameterContext;
  }

  static boolean isEmpty(ParameterContext parameters) {
    if (parameters instanceof NamedParameterContext named) return named.params().isEmpty();
    return parameters instanceof PositionalParameterContext && values(parameters).isEmpty();
  }

  /** Returns the values of a client of Spark as the texts of literals: a map or a list. */
  static Object texts(ParameterContext parameters) {
    if (parameters instanceof NamedParameterContext named) {
      var texts = new HashMap<String, String>();
      CollectionConverters.asJava(named.params())
          .forEach((name, value) -> texts.put(name, text(value)));
      return texts;
    }
    return values(parameters).stream().map(Parameters::text).toList();
  }

  /**
   * Binds the parameters of a plan, if the parser has not written them into the text. Spark's own
   * sessions do the same once more, without an effect.
   */
  static LogicalPlan bind(LogicalPlan plan, ParameterContext parameters) {
    var conf = SQLConf.get();
    if (!conf.legacyParameterSubstitutionConstantsOnly()) return plan;
    if (!areOfClient(parameters) || isEmpty(parameters)) return plan;
    if (parameters instanceof NamedParameterContext named) {
      var values = CollectionConverters.asJava(named.params());
      var names = List.copyOf(values.keySet());
      return new NameParameterizedQuery(
          plan, Sequences.of(names), Sequences.of(names.stream().map(values::get).toList()));
    }
    return new PosParameterizedQuery(plan, Sequences.of(values(parameters)));
  }

  /** Returns the values by position. */
  static List<Expression> values(ParameterContext parameters) {
    var positional = (PositionalParameterContext) parameters;
    return List.copyOf(CollectionConverters.asJava(positional.params()));
  }

  /**
   * Returns the text of a value. Spark writes a timestamp in the time zone of the session, in which
   * two points in time can have the same text.
   */
  private static String text(Expression value) {
    if (!value.resolved()) return value.sql(); // the constructor of an array, map or struct
    if (value.dataType() instanceof TimestampType && value instanceof Literal literal) {
      if (literal.value() != null) return "timestamp_micros(" + literal.value() + ")";
    } else if (value.dataType().existsRecursively(type -> type instanceof TimestampType)) {
      throw Exceptions.raise(
          JetSqlException.of(
              "PARAMETER_NOT_READABLE",
              "07001",
              "A parameter of a statement about jobs cannot have timestamps inside."));
    }
    return value.sql();
  }

  private static List<Column> literals(SparkSession session, JsonNode values) {
    var zone = session.sessionState().conf().sessionLocalTimeZone();
    return literals(session, columns(values, zone));
  }

  /**
   * Converts the columns to literals. A value with members is an expression first: Spark coerces
   * the members to one type and then evaluates it to the literal.
   */
  private static List<Column> literals(SparkSession session, List<Column> columns) {
    var nested =
        columns.stream()
            .filter(column -> !(ExpressionUtils.expression(column) instanceof Literal))
            .toList();
    if (nested.isEmpty()) return columns;
    var plan = session.range(1L).select(nested.toArray(new Column[0])).queryExecution().analyzed();
    var evaluated = ((Project) plan).projectList().iterator();
    return columns.stream()
        .map(column -> nested.contains(column) ? evaluate((Alias) evaluated.next()) : column)
        .toList();
  }

  private static Column evaluate(Alias alias) {
    var value = alias.child();
    return ExpressionUtils.column(new Literal(value.eval(InternalRow.empty()), value.dataType()));
  }

  private static List<Column> columns(JsonNode values, String zone) {
    var columns = new ArrayList<Column>();
    values.forEach(value -> columns.add(column(value, zone)));
    return columns;
  }

  private static Column column(JsonNode value, String zone) {
    if (value.has("array")) return functions.array(Sequences.of(columns(value.get("array"), zone)));
    if (value.has("map")) return functions.map(Sequences.of(columns(value.get("map"), zone)));
    if (value.has("struct")) return struct(value.get("struct"), zone);
    return ExpressionUtils.column(literal(value, zone));
  }

  private static Column struct(JsonNode members, String zone) {
    var arguments = new ArrayList<Column>();
    for (var member : members) {
      arguments.add(functions.lit(member.get(0).asText()));
      arguments.add(column(member.get(1), zone));
    }
    return functions.named_struct(Sequences.of(arguments));
  }

  /** Returns the literal of a value without members. */
  static Literal literal(JsonNode value, String zone) {
    var type = DataType.fromDDL(value.get("type").asText());
    var text = value.get("value");
    return new Literal(text.isNull() ? null : cast(text.asText(), type, zone), type);
  }

  private static Object cast(String text, DataType type, String zone) {
    if (type instanceof BinaryType) return Base64.getDecoder().decode(text);
    var literal = new Literal(UTF8String.fromString(text), DataTypes.StringType);
    return new Cast(literal, type, Option.apply(zone), EvalMode.ANSI()).eval(InternalRow.empty());
  }
}
