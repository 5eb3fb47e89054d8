package dev.jetsql.testing;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.when;

import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.stream.Collectors;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ToPrettyString;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** The rows that a unit test compares, as texts for JSON: each value as Spark shows it, or null. */
public final class TestRows {
  private TestRows() {}

  /**
   * Returns the rows of a table, and those of a query with the types of the table's columns.
   *
   * @param table the name of the table as in a statement
   * @param columns the columns to compare, a JSON array; empty for all
   */
  public static String compared(
      SparkSession session,
      MemoryTables tables,
      String table,
      String columns,
      String query,
      long millis) {
    var names = Json.readTexts(columns);
    var selected =
        names.isEmpty()
            ? "*"
            : names.stream()
                .map(name -> "`" + name.replace("`", "``") + "`")
                .collect(Collectors.joining(", "));
    var actual = tables.query(session, "SELECT " + selected + " FROM " + table, millis);
    var expected = tables.query(session, query, millis);
    if (actual.schema().length() != expected.schema().length())
      throw Exceptions.raise(
          JetSqlException.of(
              "INVALID_TEST",
              "42601",
              String.format(
                  "The expected rows have %d columns, and %s has %d: %s.",
                  expected.schema().length(),
                  table,
                  actual.schema().length(),
                  String.join(", ", actual.schema().fieldNames()))));
    var result = Json.MAPPER.createObjectNode();
    result.set("columns", Json.MAPPER.valueToTree(actual.schema().fieldNames()));
    result.set("actual", cells(session, actual));
    result.set("expected", cells(session, withTypes(expected, actual.schema())));
    return Json.write(result);
  }

  /** Returns the columns and rows of a query. */
  public static String rows(SparkSession session, MemoryTables tables, String query, long millis) {
    var found = tables.query(session, query, millis);
    var result = Json.MAPPER.createObjectNode();
    result.set("columns", Json.MAPPER.valueToTree(found.schema().fieldNames()));
    result.set("rows", cells(session, found));
    return Json.write(result);
  }

  /**
   * Returns rows with the types of a table. A number that its column cannot hold keeps its own
   * type, so that it is no row of the table.
   */
  private static Dataset<Row> withTypes(Dataset<Row> rows, StructType types) {
    var names = new ArrayList<String>();
    for (int i = 0; i < types.length(); i++) names.add("c" + i);
    var named = rows.toDF(Sequences.of(names));
    var columns = new ArrayList<Column>();
    for (int i = 0; i < types.length(); i++) {
      var given = named.schema().apply(i).dataType();
      var type = types.apply(i).dataType();
      var value = col("c" + i);
      var cast = value.cast(type);
      boolean isNumber = given instanceof NumericType && type instanceof NumericType;
      columns.add(
          !isNumber || given.equals(type)
              ? cast.as("c" + i)
              : when(cast.cast(given).eqNullSafe(value), cast.cast("string"))
                  .otherwise(value.cast("string"))
                  .as("c" + i));
    }
    return named.select(Sequences.of(columns));
  }

  private static ArrayNode cells(SparkSession session, Dataset<Row> rows) {
    var zone = Option.apply(session.sessionState().conf().sessionLocalTimeZone());
    var plan = rows.queryExecution().analyzed();
    var texts = new ArrayList<NamedExpression>();
    for (Attribute column : CollectionConverters.asJava(plan.output())) {
      var text =
          new If(
              new IsNull(column),
              new Literal(null, StringType$.MODULE$),
              new ToPrettyString(column, zone));
      boolean isBinary = column.dataType().equals(DataTypes.BinaryType);
      texts.add(isBinary ? column : Plans.alias(text, column.name()));
    }
    var shown = Dataset.ofRows(session, new Project(Sequences.of(texts), plan));
    var cells = Json.MAPPER.createArrayNode();
    for (var row : MemoryTables.collect(shown)) {
      var values = cells.addArray();
      for (int i = 0; i < texts.size(); i++)
        values.add(
            row.isNullAt(i) ? (String) null : text(row, i, shown.schema().apply(i).dataType()));
    }
    return cells;
  }

  private static String text(InternalRow row, int at, DataType type) {
    return type.equals(DataTypes.BinaryType)
        ? bytes(row.getBinary(at))
        : row.getUTF8String(at).toString();
  }

  /** Returns bytes as their text, or as a literal if they are no text or look like a literal. */
  private static String bytes(byte[] bytes) {
    var text = UTF8String.fromBytes(bytes);
    boolean isText = text.isValid() && !text.toString().startsWith("X'");
    return isText ? text.toString() : "X'" + HexFormat.of().withUpperCase().formatHex(bytes) + "'";
  }
}
