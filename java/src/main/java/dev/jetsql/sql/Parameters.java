package dev.jetsql.sql;

import dev.jetsql.common.Json;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Statements with parameter markers: all their values come across in one call, as JSON, and become literals here.
 *
 * Spark's own cast makes a value of its text, so that it is what the same literal in a statement would be. The forms:
 * {"type": DDL, "value": text or null}, {"array": [...]}, {"map": [key, value, ...]}, {"struct": [[name, value], ...]}.
 */
public class Parameters {

  /** parameters: a JSON array (values of `?`) or object (of `:name`). */
  static Dataset run(SparkSession session, String text, String parameters) throws Exception {
    JsonNode told = Json.MAPPER.readTree(parameters);
    if (told.isArray()) return session.sql(text, (Object) literals(session, list(told)));
    return session.sql(text, named(session, told));
  }

  private static Map named(SparkSession session, JsonNode values) {
    List names = new ArrayList();
    List told = new ArrayList();
    Iterator each = values.fieldNames();
    while (each.hasNext()) {
      String name = (String) each.next();
      names.add(name);
      told.add(values.get(name));
    }
    Column[] literals = literals(session, told);
    Map made = new HashMap();
    for (int n = 0; n < literals.length; n++) made.put(names.get(n), literals[n]);
    return made;
  }

  /**
   * The values as literals. Those with members are expressions first: Spark brings the members to one type, and what it
   * then evaluates is the literal.
   */
  private static Column[] literals(SparkSession session, List values) {
    Column[] made = new Column[values.size()];
    List nested = new ArrayList();
    for (int n = 0; n < made.length; n++) {
      made[n] = column(session, (JsonNode) values.get(n));
      if (!((JsonNode) values.get(n)).has("type")) nested.add(Integer.valueOf(n));
    }
    if (nested.isEmpty()) return made;
    Column[] asked = new Column[nested.size()];
    for (int n = 0; n < asked.length; n++) asked[n] = made[((Integer) nested.get(n)).intValue()];
    Dataset selected = (Dataset) session.range(1L).select(asked);
    scala.collection.Iterator found = ((Project) selected.queryExecution().analyzed()).projectList().iterator();
    for (int n = 0; n < asked.length; n++) {
      Expression value = ((Alias) found.next()).child();
      Literal literal = new Literal(value.eval(InternalRow.empty()), value.dataType());
      made[((Integer) nested.get(n)).intValue()] = ExpressionUtils.column(literal);
    }
    return made;
  }

  private static List list(JsonNode values) {
    List made = new ArrayList();
    for (int n = 0; n < values.size(); n++) made.add(values.get(n));
    return made;
  }

  private static Column[] columns(SparkSession session, JsonNode values) {
    Column[] made = new Column[values.size()];
    for (int n = 0; n < made.length; n++) made[n] = column(session, (JsonNode) values.get(n));
    return made;
  }

  private static Column column(SparkSession session, JsonNode told) {
    if (told.has("array")) return functions.array(sequence(columns(session, (JsonNode) told.get("array"))));
    if (told.has("map")) return functions.map(sequence(columns(session, (JsonNode) told.get("map"))));
    if (told.has("struct")) return struct(session, (JsonNode) told.get("struct"));
    JsonNode value = (JsonNode) told.get("value");
    return literal(session, ((JsonNode) told.get("type")).asText(), value.isNull() ? null : value.asText());
  }

  private static Column struct(SparkSession session, JsonNode members) {
    List made = new ArrayList();
    for (int n = 0; n < members.size(); n++) {
      JsonNode member = (JsonNode) members.get(n);
      made.add(functions.lit(((JsonNode) member.get(0)).asText()));
      made.add(column(session, (JsonNode) member.get(1)));
    }
    return functions.named_struct(sequence(made.toArray(new Column[0])));
  }

  private static scala.collection.immutable.Seq sequence(Object[] columns) {
    return CollectionConverters.asScala(java.util.Arrays.asList(columns)).toSeq();
  }

  private static Column literal(SparkSession session, String type, String text) {
    DataType kind = DataType.fromDDL(type);
    return ExpressionUtils.column(new Literal(text == null ? null : value(session, kind, text), kind));
  }

  private static Object value(SparkSession session, DataType kind, String text) {
    if (kind instanceof BinaryType) return Base64.getDecoder().decode(text);
    Option zone = Option.apply((Object) session.sessionState().conf().sessionLocalTimeZone());
    Expression written = new Literal(UTF8String.fromString(text), DataTypes.StringType);
    return new Cast(written, kind, zone, EvalMode.ANSI()).eval(InternalRow.empty());
  }
}
