package dev.jetsql.bodies;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectSet;
import org.apache.spark.sql.catalyst.expressions.aggregate.MaxBy;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The query of AUTO CDC: an aggregate by the keys that keeps the newest change of each key.
 *
 * <p>The newest change has the highest sequence; of two changes with the same sequence, a deletion
 * is the newer one. In output mode update, the query returns the newest change of each key that has
 * a change in a batch. So an older change, late or replayed, returns the newest one again. The
 * aggregate's state keeps deleted keys too. It is exactly once by the checkpoint and needs nothing
 * in the table.
 *
 * <p>For a history (SCD TYPE 2), the aggregate keeps the set of all changes of each key. The query
 * returns each change of a key that has a change in a batch, with its sequence as the start and the
 * next sequence as the end. So the rows depend on the set and not on the order of arrival. A
 * deletion is a marked row: it ends the previous row, and deletes the row of an update with the
 * same sequence.
 */
final class ChangeQuery {
  private static final String ROW = "__jetsql_row";
  private static final String ORDER = "__jetsql_order";
  private static final String NEWEST = "__jetsql_newest";
  private static final String CHANGES = "__jetsql_changes";
  private static final String START = "__START_AT";
  private static final String END = "__END_AT";
  // The text is a part of the operator, by which a job recognizes its state: keep it as it is.
  private static final String NO_SEQUENCE =
      "A change has NULL in SEQUENCE BY, so its order is unknown.";

  private final ParserInterface parser;
  private final JsonNode clauses;

  private ChangeQuery(ParserInterface parser, JsonNode clauses) {
    this.parser = parser;
    this.clauses = clauses;
  }

  /**
   * Returns the INSERT of the newest changes.
   *
   * @param insert the parsed INSERT of the source's rows, `SELECT *`
   * @param clauses the texts of the clauses as JSON
   */
  static LogicalPlan of(ParserInterface parser, LogicalPlan insert, String clauses) {
    try {
      var query = new ChangeQuery(parser, Json.MAPPER.readTree(clauses));
      return insert.transformUp(
          PartialFunctions.of(
              InsertIntoStatement.class::isInstance,
              node -> query.withNewest((InsertIntoStatement) node)));
    } catch (JsonProcessingException e) {
      throw Exceptions.raise(e);
    }
  }

  private LogicalPlan withNewest(InsertIntoStatement insert) {
    var newest = newest(((Project) insert.query()).child());
    return CaseClasses.copy(insert, Map.of("query", newest, "byName", true));
  }

  private LogicalPlan newest(LogicalPlan source) {
    var keys = new ArrayList<Expression>();
    var columns = new ArrayList<NamedExpression>();
    columns.add(Plans.alias(parse(clauses.get("columns")), ROW));
    columns.add(Plans.alias(order(), ORDER));
    for (var key : clauses.get("keys")) {
      var column = (UnresolvedAttribute) parse(key);
      columns.add(Plans.alias(column, column.name()));
      keys.add(column(column.name()));
    }
    var changes = new Project(Sequences.of(columns), source);
    if (clauses.get("history").asBoolean()) return history(keys, changes);
    var change = struct("row", column(ROW), "deleted", column(ORDER, "deleted"));
    var sequence = parse(clauses.get("sequence"));
    var newest = at(sequence, () -> new MaxBy(change, column(ORDER)).toAggregateExpression());
    var aggregate =
        new Aggregate(
            Sequences.of(keys), Sequences.of(Plans.alias(newest, NEWEST)), changes, Option.empty());
    NamedExpression star = new UnresolvedStar(Option.apply(Sequences.of(NEWEST, "row")));
    return new Project(Sequences.of(star), aggregate);
  }

  /** Returns all changes of the keys, each with the sequences at which its row starts and ends. */
  private LogicalPlan history(List<Expression> keys, LogicalPlan changes) {
    var sequence = parse(clauses.get("sequence"));
    var change = struct("order", column(ORDER), "row", column(ROW));
    var all = at(sequence, () -> new CollectSet(change).toAggregateExpression());
    LogicalPlan plan =
        new Aggregate(
            Sequences.of(keys), Sequences.of(Plans.alias(all, CHANGES)), changes, Option.empty());
    // Of several changes with the same sequence, the last one is a deletion if there is one.
    plan = replaceChanges(plan, "sort_array(" + CHANGES + ")");
    plan =
        replaceChanges(
            plan,
            """
            filter(%1$s, (c, i) -> get(%1$s, i + 1) IS NULL
              OR get(%1$s, i + 1).order.sequence <> c.order.sequence)\
            """
                .formatted(CHANGES));
    plan =
        replaceChanges(
            plan,
            """
            transform(%1$s, (c, i) -> named_struct('row', c.row, 'deleted', c.order.deleted,
              'start', c.order.sequence, 'end', get(%1$s, i + 1).order.sequence))\
            """
                .formatted(CHANGES));
    plan = project(plan, Plans.alias(expression("explode(" + CHANGES + ")"), NEWEST));
    return project(
        plan,
        new UnresolvedStar(Option.apply(Sequences.of(NEWEST, "row"))),
        Plans.alias(column(NEWEST, "start"), START),
        Plans.alias(column(NEWEST, "end"), END));
  }

  private LogicalPlan replaceChanges(LogicalPlan plan, String expression) {
    return project(plan, Plans.alias(expression(expression), CHANGES));
  }

  private static LogicalPlan project(LogicalPlan plan, NamedExpression... columns) {
    return new Project(Sequences.of(columns), plan);
  }

  /** Returns the order of a change: its sequence, and whether it deletes its key. */
  private Expression order() {
    var sequence = parse(clauses.get("sequence"));
    var checked =
        at(
            sequence,
            () ->
                new If(
                    new IsNull(sequence),
                    new RaiseError(Literal$.MODULE$.apply(NO_SEQUENCE)),
                    sequence));
    return struct("sequence", checked, "deleted", deleted());
  }

  private Expression deleted() {
    if (clauses.get("delete").isNull()) return Literal$.MODULE$.apply(false);
    var condition = parse(clauses.get("delete"));
    // The condition is also false if it is NULL.
    return at(
        condition,
        () -> new If(condition, Literal$.MODULE$.apply(true), Literal$.MODULE$.apply(false)));
  }

  private Expression parse(JsonNode text) {
    return expression(text.asText());
  }

  private Expression expression(String text) {
    try {
      return parser.parseExpression(text);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static <T> T at(Expression place, Supplier<T> made) {
    return CurrentOrigin.withOrigin(place.origin(), made::get);
  }

  private static Expression struct(String first, Expression one, String second, Expression two) {
    return new CreateNamedStruct(
        Sequences.of(Literal$.MODULE$.apply(first), one, Literal$.MODULE$.apply(second), two));
  }

  private static Expression column(String... parts) {
    return new UnresolvedAttribute(Sequences.of(parts));
  }

  /** Returns the names of the columns of a change in an analyzed query. */
  static List<String> columns(LogicalPlan query) {
    var newest = (StructType) newestColumn(query).dataType();
    return List.of(((StructType) newest.apply("row").dataType()).fieldNames());
  }

  private static Attribute newestColumn(LogicalPlan query) {
    var newest = newestOf(query.children().head());
    return newest == null ? newestColumn(query.children().head()) : newest;
  }

  /** Returns the column with the changes in the output of a node, or null. */
  private static Attribute newestOf(LogicalPlan node) {
    return CollectionConverters.asJava(node.output()).stream()
        .filter(column -> column.name().equals(NEWEST))
        .findFirst()
        .orElse(null);
  }

  /** Returns the analyzed query of the INSERT with the additional column `Plans.DELETED`. */
  static LogicalPlan withDeleted(LogicalPlan query) {
    var project = (Project) query;
    var columns =
        new ArrayList<NamedExpression>(CollectionConverters.asJava(project.projectList()));
    var newest = newestOf(project.child());
    if (newest != null) {
      columns.add(
          Plans.alias(new GetStructField(newest, 1, Option.apply("deleted")), Plans.DELETED));
      return new Project(Sequences.of(columns), project.child());
    }
    var child = withDeleted(project.child());
    columns.add(child.output().last());
    return new Project(Sequences.of(columns), child);
  }
}
