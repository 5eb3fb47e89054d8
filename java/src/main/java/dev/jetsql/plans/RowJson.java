package dev.jetsql.plans;

import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CreateStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.StructsToJson;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** A row as a JSON text, for tables of rows of any columns. */
public final class RowJson {
  private RowJson() {}

  /** Returns the text of a row, with the time zone of the session. */
  public static Expression of(List<Attribute> columns, SparkSession session) {
    scala.collection.immutable.Map<String, String> options =
        scala.collection.immutable.Map.from(
            CollectionConverters.asScala(Map.of("ignoreNullFields", "false")));
    var zone = Option.apply(session.sessionState().conf().sessionLocalTimeZone());
    return new StructsToJson(options, struct(columns), zone);
  }

  /** Returns the text of a row, which is no JSON if a column has a type that JSON lacks. */
  public static Expression orText(List<Attribute> columns, SparkSession session) {
    if (isPossible(columns)) return of(columns, session);
    var zone = Option.apply(session.sessionState().conf().sessionLocalTimeZone());
    return new Cast(
        Plans.struct(Sequences.of(columns)),
        DataTypes.StringType,
        zone,
        Cast$.MODULE$.apply$default$4());
  }

  /** Returns whether all columns can be converted. */
  public static boolean isPossible(List<Attribute> columns) {
    return new StructsToJson(struct(columns)).checkInputDataTypes().isSuccess();
  }

  private static Expression struct(List<Attribute> columns) {
    return CreateStruct.create(Sequences.of(new ArrayList<Expression>(columns)));
  }
}
