package dev.jetsql.refused;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RowJson;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences$;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CheckOverflowInTableInsert;
import org.apache.spark.sql.catalyst.expressions.CreateStruct;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructField;
import scala.Option;

/**
 * Rows before INSERT converts them to the types of the table's columns, each with the error of its
 * conversion: a number that is too large, a text that is too long, NULL in a column that must have
 * a value.
 *
 * <p>The last column of `rows` is the error, or NULL. `accepted` and `refused` are the two parts of
 * the rows.
 */
public final class ConvertedRows {
  private static final String ERROR = "__jetsql_error";
  private static final Set<String> LENGTH_CHECKS =
      Set.of("charTypeWriteSideCheck", "varcharTypeWriteSideCheck");

  private final Dataset<Row> rows;
  private final List<Attribute> given;
  private final List<NamedExpression> converted;

  private ConvertedRows(Dataset<Row> table, LogicalPlan query, List<NamedExpression> converted) {
    this.given = Plans.list(query.output());
    this.converted = converted;
    var output = new ArrayList<NamedExpression>(given);
    output.add(Plans.alias(error(), ERROR));
    this.rows =
        ApprovedPlans.call(
            () -> Dataset.ofRows(table.sparkSession(), new Project(Sequences.of(output), query)));
  }

  /**
   * Returns the rows of an INSERT before their conversion, or null if none can fail.
   *
   * @param checked a table whose columns are checked for values, its quoted name, or empty
   */
  public static ConvertedRows of(Dataset<Row> rows, String checked) {
    var required = new TreeSet<String>(String.CASE_INSENSITIVE_ORDER);
    if (!checked.isEmpty()) required.addAll(requiredColumns(rows.sparkSession(), checked));
    var projects = new ArrayList<Project>();
    var lowest = -1;
    for (var plan = rows.queryExecution().analyzed();
        plan instanceof Project project;
        plan = project.child()) {
      if (isConversion(project)) lowest = projects.size();
      projects.add(project);
    }
    var query = rows.queryExecution().analyzed();
    var converted = List.<NamedExpression>copyOf(Plans.list(query.output()));
    if (lowest >= 0) {
      query = projects.get(lowest).child();
      for (var project : projects.subList(0, lowest + 1))
        converted = replaced(converted, valuesOf(project));
    }
    var values = converted.stream().map(column -> withCheck(column, required)).toList();
    if (lowest < 0 && values.equals(converted)) return null;
    return new ConvertedRows(rows, query, values);
  }

  /** Returns the columns of a table that must have a value. */
  private static List<String> requiredColumns(SparkSession session, String table) {
    // The owner of a job may write a table that they must not read.
    var schema = ApprovedPlans.call(() -> session.table(table)).schema();
    return Arrays.stream(schema.fields())
        .filter(field -> !field.nullable())
        .map(StructField::name)
        .toList();
  }

  /** Returns a column whose conversion fails for NULL if it must have a value. */
  private static NamedExpression withCheck(NamedExpression column, Set<String> required) {
    var value = column instanceof Alias alias ? alias.child() : (Expression) column;
    if (!required.contains(column.name()) || !value.nullable()) return column;
    return Plans.renamed(new AssertNotNull(value, Sequences.of(column.name())), column);
  }

  public Dataset<Row> rows() {
    return rows;
  }

  /** Returns the rows for the table. stored: stored rows of `rows` */
  public Dataset<Row> accepted(Dataset<Row> stored) {
    var plan = stored.queryExecution().analyzed();
    var columns = Plans.list(plan.output());
    var values = new HashMap<ExprId, Expression>();
    for (int i = 0; i < given.size(); i++)
      values.put(given.get(i).exprId(), (Expression) columns.get(i));
    var output = Sequences.of(replaced(converted, values));
    return select(stored, output, new IsNull(last(columns)), plan);
  }

  /** Returns the errors of the rows that cannot be converted, and their values as JSON. */
  public Dataset<Row> refused(Dataset<Row> stored) {
    var plan = stored.queryExecution().analyzed();
    var columns = Plans.list(plan.output());
    var error = last(columns);
    var values = columns.subList(0, columns.size() - 1);
    var output =
        List.<NamedExpression>of(
            Plans.alias(new GetStructField(error, 0, Option.empty()), "sqlstate"),
            Plans.alias(new GetStructField(error, 1, Option.empty()), "message"),
            Plans.alias(RowJson.orText(values, stored.sparkSession()), "row"));
    return select(stored, Sequences.of(output), new IsNotNull(error), plan);
  }

  private static Dataset<Row> select(
      Dataset<Row> stored,
      scala.collection.immutable.Seq<NamedExpression> output,
      Expression condition,
      LogicalPlan plan) {
    return Dataset.ofRows(stored.sparkSession(), new Project(output, new Filter(condition, plan)));
  }

  private Expression error() {
    var fields = package$.MODULE$.AttributeSeq(Sequences.of(given));
    var bound = new ArrayList<Expression>();
    for (var value : converted)
      bound.add(BindReferences$.MODULE$.bindReference((Expression) value, fields, false));
    var row = CreateStruct.create(Sequences.of(new ArrayList<Expression>(given)));
    return new ConversionError(row, bound);
  }

  private static Expression last(List<Attribute> columns) {
    return (Expression) columns.get(columns.size() - 1);
  }

  private static boolean isConversion(Project project) {
    return Plans.list(project.projectList()).stream()
        .anyMatch(column -> ((Expression) column).exists(ConvertedRows::canFail));
  }

  /** Returns whether a part of an expression was added by INSERT and can fail. */
  private static boolean canFail(Expression part) {
    return part instanceof CheckOverflowInTableInsert
        || part instanceof AssertNotNull
        || (part instanceof Cast cast
            && cast.getTagValue(Cast$.MODULE$.BY_TABLE_INSERTION()).isDefined())
        || (part instanceof StaticInvoke call && LENGTH_CHECKS.contains(call.functionName()));
  }

  private static Map<ExprId, Expression> valuesOf(Project project) {
    var values = new HashMap<ExprId, Expression>();
    for (var column : Plans.list(project.projectList()))
      if (column instanceof Alias alias) values.put(alias.exprId(), alias.child());
    return values;
  }

  /** Returns columns with values in place of the attributes with these ids. */
  private static List<NamedExpression> replaced(
      List<NamedExpression> columns, Map<ExprId, Expression> values) {
    var found = new ArrayList<NamedExpression>();
    for (var column : columns) {
      var value = column instanceof Alias alias ? alias.child() : (Expression) column;
      var replaced =
          value.transformUp(
              PartialFunctions.of(
                  each -> each instanceof Attribute a && values.containsKey(a.exprId()),
                  each -> values.get(((Attribute) each).exprId())));
      found.add(Plans.renamed(replaced, column));
    }
    return found;
  }
}
