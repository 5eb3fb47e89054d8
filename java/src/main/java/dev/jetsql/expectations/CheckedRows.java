package dev.jetsql.expectations;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RowJson;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.ArrayCompact;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;

/**
 * Rows that are checked by rules when they are read, in the code that Spark generates for their
 * query.
 *
 * <p>If a rule has a table for the rows that violate it, the rows are not filtered: their last
 * column has the violated rules, and `accepted` and `violating` are the two parts of the rows.
 */
public final class CheckedRows {
  private static final String VIOLATED = "__jetsql_violated";

  private final List<Expectation> rules;
  private final ViolationCounts counts;
  private final Dataset<Row> rows;

  private CheckedRows(Dataset<Row> given, List<Expectation> rules) {
    this.rules = rules;
    this.counts = new ViolationCounts(rules.size());
    var session = given.sparkSession();
    session.sparkContext().register(counts);
    this.rows = ApprovedPlans.call(() -> Dataset.ofRows(session, checked(given)));
  }

  /** Returns rows with their checks. rules: see `Expectation` */
  public static CheckedRows of(Dataset<Row> rows, String rules) {
    return new CheckedRows(rows, Expectation.read(rules));
  }

  public Dataset<Row> rows() {
    return rows;
  }

  /** Forgets the counts of the rows that were read. */
  public void reset() {
    counts.reset();
  }

  /**
   * Returns the counts of the rows that were read since the last reset, as a JSON array: of those
   * that violate each rule, and last of all.
   */
  public String counts() {
    return Json.write(counts.value());
  }

  private LogicalPlan checked(Dataset<Row> given) {
    var session = given.sparkSession();
    var plan = atRuntime(given);
    var columns = Plans.list(plan.output());
    var conditions = new ArrayList<Expression>();
    for (var rule : rules) {
      var condition = Conditions.of(session, values(columns), rule);
      conditions.add(marksDeleted(columns) ? new Or(last(columns), condition) : condition);
    }
    conditions.add(text(values(columns), session));
    var names = rules.stream().map(Expectation::name).toList();
    var check = new CheckRow(conditions, names, bits(each -> each.is(Expectation.FAIL)), counts);
    var violated = Plans.alias(check, VIOLATED);
    var all = new ArrayList<NamedExpression>(columns);
    all.add(violated);
    var withRules = new Project(Sequences.of(all), plan);
    Expression mask = (Expression) violated.toAttribute();
    var dropped = bits(each -> each.is(Expectation.DROP_ROW));
    var kept = bits(each -> each.is(Expectation.INTO_TABLE));
    // Without a filter that reads it, the optimizer would leave out the check.
    Expression stays =
        dropped == 0
            ? new GreaterThanOrEqual(mask, Literal$.MODULE$.apply(0L))
            : lacks(mask, dropped);
    if (kept != 0) return new Filter(new Or(new Not(lacks(mask, kept)), stays), withRules);
    var output = Sequences.of(new ArrayList<NamedExpression>(columns));
    return new Project(output, new Filter(stays, withRules));
  }

  /** Returns the plan of rows. Rows that the optimizer would compute are computed before. */
  private static LogicalPlan atRuntime(Dataset<Row> given) {
    var plan = given.queryExecution().analyzed();
    var isConstant =
        Plans.list(plan.collectLeaves()).stream()
            .allMatch(leaf -> leaf instanceof LocalRelation || leaf instanceof OneRowRelation);
    if (!isConstant || plan.isStreaming()) return plan;
    return SparkCalls.rows(plan.output(), given.queryExecution().toRdd(), given.sparkSession());
  }

  private static boolean marksDeleted(List<Attribute> columns) {
    return last(columns).name().equals(Plans.DELETED);
  }

  private static Attribute last(List<Attribute> columns) {
    return columns.get(columns.size() - 1);
  }

  /** Returns the columns without the one that marks rows that are deleted. */
  private static List<Attribute> values(List<Attribute> columns) {
    return marksDeleted(columns) ? columns.subList(0, columns.size() - 1) : columns;
  }

  private Expression text(List<Attribute> columns, SparkSession session) {
    if (rules.stream().noneMatch(each -> each.is(Expectation.FAIL)))
      return Literal$.MODULE$.create(null, DataTypes.StringType);
    return RowJson.orText(columns, session);
  }

  private long bits(Predicate<Expectation> which) {
    long bits = 0;
    for (int i = 0; i < rules.size(); i++) if (which.test(rules.get(i))) bits |= 1L << i;
    return bits;
  }

  private static Expression lacks(Expression mask, long bits) {
    return new EqualTo(
        new BitwiseAnd(mask, Literal$.MODULE$.apply(bits)), Literal$.MODULE$.apply(0L));
  }

  /** Returns the rows for the sink. given: stored rows of `rows` */
  public Dataset<Row> accepted(Dataset<Row> given) {
    var plan = given.queryExecution().analyzed();
    var columns = Plans.list(plan.output());
    var refused = bits(each -> each.is(Expectation.DROP_ROW) || each.is(Expectation.INTO_TABLE));
    var output = new ArrayList<NamedExpression>(columns.subList(0, columns.size() - 1));
    return Dataset.ofRows(
        given.sparkSession(),
        new Project(
            Sequences.of(output), new Filter(lacks((Expression) last(columns), refused), plan)));
  }

  /**
   * Returns the rows that violate a rule with a table: the names of all rules that they violate,
   * and the values as JSON.
   */
  public Dataset<Row> violating(Dataset<Row> given, String table) {
    var plan = given.queryExecution().analyzed();
    var columns = Plans.list(plan.output());
    Expression mask = (Expression) last(columns);
    var wanted = bits(each -> each.table().equals(table));
    var values = values(columns.subList(0, columns.size() - 1));
    var output =
        List.<NamedExpression>of(
            Plans.alias(violatedNames(mask), "rules"),
            Plans.alias(RowJson.of(values, given.sparkSession()), "row"));
    return Dataset.ofRows(
        given.sparkSession(),
        new Project(Sequences.of(output), new Filter(new Not(lacks(mask, wanted)), plan)));
  }

  private Expression violatedNames(Expression mask) {
    var names = new ArrayList<Expression>();
    for (int i = 0; i < rules.size(); i++)
      names.add(
          new If(
              lacks(mask, 1L << i),
              Literal$.MODULE$.create(null, DataTypes.StringType),
              Literal$.MODULE$.apply(rules.get(i).name())));
    return new ArrayCompact(new CreateArray(Sequences.of(names), false));
  }

  /** Returns the number of rows for each table of a rule as a JSON object. */
  public String tables() {
    var tables = new HashMap<String, Long>();
    var sums = counts.value();
    for (int i = 0; i < rules.size(); i++)
      if (!rules.get(i).table().isEmpty()) tables.merge(rules.get(i).table(), sums[i], Long::sum);
    return Json.write((Map<String, Long>) tables);
  }
}
