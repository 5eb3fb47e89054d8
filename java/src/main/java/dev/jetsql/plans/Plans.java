package dev.jetsql.plans;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases$;
import org.apache.spark.sql.catalyst.analysis.EliminateView$;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.package$;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.MetadataBuilder;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Helpers for Spark's logical plans, which are Scala's classes. */
public final class Plans {
  /** The last column of rows that update or delete the rows of a table by their keys. */
  public static final String DELETED = "__jetsql_deleted";

  /** The metadata of a column with a watermark: the delay in milliseconds. */
  public static final String WATERMARK = "spark.watermarkDelayMs";

  private Plans() {}

  public static <T> List<T> list(Seq<T> values) {
    return CollectionConverters.asJava(values);
  }

  /** Returns the expression under a new name. */
  public static Alias alias(Expression value, String name) {
    return alias(value, name, NamedExpression$.MODULE$.newExprId());
  }

  public static Alias alias(Expression value, String name, ExprId id) {
    return new Alias(value, name, id, Sequences.of(), Option.empty(), Sequences.of());
  }

  /** Returns the expression under the name and the id of another one. */
  public static Alias renamed(Expression value, NamedExpression as) {
    return new Alias(value, as.name(), as.exprId(), as.qualifier(), Option.empty(), Sequences.of());
  }

  /** Returns a stream with the columns of a plan, without rows and operators. */
  public static LogicalPlan streamLike(LogicalPlan plan) {
    return new LocalRelation(plan.output(), Sequences.of(), true, Option.empty());
  }

  /**
   * Applies a rule to the query of an INSERT. Spark's rules do not visit this query: it is not a
   * child of the command.
   */
  public static InsertIntoDataSourceCommand withQuery(
      InsertIntoDataSourceCommand insert, UnaryOperator<LogicalPlan> rule) {
    var query = rule.apply(insert.query());
    return query == insert.query()
        ? insert
        : insert.copy(insert.logicalRelation(), query, insert.overwrite());
  }

  /** Returns rows under other names and ids of their columns. */
  public static LogicalPlan withColumns(LogicalPlan rows, Seq<Attribute> names) {
    var columns = new ArrayList<NamedExpression>();
    for (int i = 0; i < names.size(); i++) {
      columns.add(renamed(rows.output().apply(i), names.apply(i)));
    }
    return new Project(Sequences.of(columns), rows);
  }

  /** Returns rows with the columns `c0`, `c1` and so on. */
  public static LogicalPlan withUniqueNames(LogicalPlan rows) {
    var columns = new ArrayList<NamedExpression>();
    for (var column : list(rows.output())) columns.add(alias(column, "c" + columns.size()));
    return new Project(Sequences.of(columns), rows);
  }

  /** Returns the columns as one struct, with the fields `c0`, `c1` and so on. */
  public static Expression struct(Seq<Attribute> columns) {
    var fields = new ArrayList<Expression>();
    for (var column : list(columns)) {
      fields.add(Literal$.MODULE$.apply("c" + fields.size() / 2));
      fields.add((Expression) column);
    }
    return new CreateNamedStruct(Sequences.of(fields));
  }

  /** Returns whether a column is one of metadata, such as the files of a table. */
  public static boolean isMetadata(Attribute column) {
    return column.metadata().contains(package$.MODULE$.METADATA_COL_ATTR_KEY());
  }

  public static boolean hasWatermark(Expression expression) {
    return expression instanceof Attribute column && column.metadata().contains(WATERMARK);
  }

  public static boolean hasWatermark(Seq<Attribute> columns) {
    return list(columns).stream().anyMatch(Plans::hasWatermark);
  }

  /** Returns rows in which no column has a watermark. */
  public static LogicalPlan withoutWatermark(LogicalPlan rows) {
    if (!hasWatermark(rows.output())) return rows;
    var columns = new ArrayList<NamedExpression>();
    for (var column : list(rows.output())) {
      var metadata =
          new MetadataBuilder().withMetadata(column.metadata()).remove(WATERMARK).build();
      columns.add(
          hasWatermark(column)
              ? new Alias(
                  column,
                  column.name(),
                  NamedExpression$.MODULE$.newExprId(),
                  Sequences.of(),
                  Option.apply(metadata),
                  Sequences.of())
              : column);
    }
    return new Project(Sequences.of(columns), rows);
  }

  /** Returns a plan with the calls by which Spark's optimizer replaces others. */
  public static LogicalPlan withoutReplaceable(LogicalPlan plan) {
    return ReplaceExpressions$.MODULE$
        .apply(plan)
        .transformExpressionsUp(
            PartialFunctions.<Expression, Expression>of(
                With.class::isInstance, node -> inlined((With) node)));
  }

  private static Expression inlined(With with) {
    return with.child()
        .transformUp(
            PartialFunctions.<Expression, Expression>of(
                CommonExpressionRef.class::isInstance,
                node ->
                    list(with.defs()).stream()
                        .filter(each -> each.id().equals(((CommonExpressionRef) node).id()))
                        .<Expression>map(CommonExpressionDef::child)
                        .findFirst()
                        .orElse(node)));
  }

  /** Returns the conditions that AND joins in a condition. */
  public static List<Expression> conjuncts(Expression condition) {
    if (!(condition instanceof And and)) return List.of(condition);
    var all = new ArrayList<>(conjuncts(and.left()));
    all.addAll(conjuncts(and.right()));
    return all;
  }

  /** Returns a plan without the names of tables and views, which only the analyzer needs. */
  public static LogicalPlan withoutNames(LogicalPlan plan) {
    return EliminateView$.MODULE$.apply(EliminateSubqueryAliases$.MODULE$.apply(plan));
  }

  /** Applies a function to the streaming nodes, first to the children of a node. */
  public static LogicalPlan transformStreams(
      LogicalPlan plan, Function<LogicalPlan, LogicalPlan> function) {
    return plan.transformUp(PartialFunctions.of(LogicalPlan::isStreaming, function));
  }

  /** Returns whether a streaming node keeps rows or groups between batches. */
  public static boolean keepsState(LogicalPlan node) {
    if (node instanceof Join || node instanceof AsOfJoin)
      return list(node.children()).stream().allMatch(LogicalPlan::isStreaming);
    var kind = node.getClass().getSimpleName();
    return node instanceof Aggregate
        || node instanceof GlobalLimit
        || kind.startsWith("Deduplicate")
        || kind.equals("Distinct")
        || kind.contains("GroupsWithState")
        || kind.startsWith("TransformWithState")
        || kind.contains("InPandasWithState");
  }

  /** Returns why Spark's own check of the analyzed plan refuses a query, or null if it does not. */
  public static String sparkReason(LogicalPlan query, OutputMode mode) {
    try {
      UnsupportedOperationChecker.checkForStreaming(query, mode);
      return null;
    } catch (Exception e) { // a Scala method declares no checked exception
      if (e instanceof AnalysisException refusal) return refusal.getSimpleMessage();
      throw Exceptions.raise(e);
    }
  }

  public static boolean aggregatesStream(LogicalPlan plan) {
    return plan.exists(node -> node instanceof Aggregate && node.isStreaming());
  }

  /** Returns the node's text in SQL, without qualifiers and back quotes. */
  public static String text(Expression expression) {
    return org.apache.spark.sql.catalyst.util.package$.MODULE$.toPrettySQL(expression, true);
  }

  public static String texts(Seq<? extends Expression> expressions) {
    return list(expressions).stream().map(Plans::text).collect(Collectors.joining(", "));
  }

  /**
   * Gives each read of a table columns of its own. A WITH that is read twice has the same columns
   * in both places, and Spark would lose the state of aggregates of streams over them.
   */
  public static LogicalPlan withSeparateReads(LogicalPlan plan) {
    return transformStreams(plan, Plans::separateChildren);
  }

  private static LogicalPlan separateChildren(LogicalPlan node) {
    var seen = new HashSet<ExprId>();
    var children = new ArrayList<LogicalPlan>();
    for (var child : list(node.children())) {
      var read = readColumns(child);
      children.add(
          Collections.disjoint(seen, read)
              ? child
              : withColumns(withNewIds(child), child.output()));
      seen.addAll(read);
    }
    return children.equals(list(node.children()))
        ? node
        : node.withNewChildren(Sequences.of(children));
  }

  private static Set<ExprId> readColumns(LogicalPlan plan) {
    return list(plan.collectLeaves()).stream()
        .flatMap(leaf -> list(leaf.output()).stream())
        .map(Attribute::exprId)
        .collect(Collectors.toSet());
  }

  /** Returns a copy of a plan in which the columns of all nodes have new ids. */
  public static LogicalPlan withNewIds(LogicalPlan plan) {
    var ids = new HashMap<ExprId, ExprId>();
    return plan.transformAllExpressions(
        PartialFunctions.<Expression, Expression>of(
            node -> node instanceof AttributeReference || node instanceof Alias,
            node -> {
              var id =
                  ids.computeIfAbsent(
                      ((NamedExpression) node).exprId(),
                      each -> NamedExpression$.MODULE$.newExprId());
              return node instanceof AttributeReference column
                  ? column.withExprId(id)
                  : withId((Alias) node, id);
            }));
  }

  private static Alias withId(Alias alias, ExprId id) {
    return new Alias(
        alias.child(),
        alias.name(),
        id,
        alias.qualifier(),
        alias.explicitMetadata(),
        alias.nonInheritableMetadataKeys());
  }
}
