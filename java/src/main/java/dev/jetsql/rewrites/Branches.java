package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The queries of a body with several INSERTs, which run over the rows of each batch of one source.
 *
 * @param source the source with the columns that the branches read
 * @param parts the query of each branch, in the order of the body
 */
public record Branches(LogicalPlan source, List<BatchPart> parts) {
  /**
   * Returns a relation with the columns of the source, from which the branches are resolved: each
   * of them would otherwise read the source itself.
   */
  public static LogicalPlan standIn(LogicalPlan source) {
    return relation(Plans.list(source.output()));
  }

  /**
   * Returns the branches.
   *
   * @param queries the resolved queries over the stand-in of the source
   * @param checked the columns of the source that its rules read
   */
  public static Branches of(
      LogicalPlan source, List<LogicalPlan> queries, List<Attribute> checked) {
    var read = new HashSet<ExprId>();
    for (var column : checked) read.add(column.exprId());
    queries.forEach(query -> collectRead(query, read));
    var all = Plans.list(source.output());
    var columns = new ArrayList<>(all.stream().filter(c -> read.contains(c.exprId())).toList());
    if (columns.isEmpty()) columns.add(all.get(0));
    var pruned =
        columns.size() == all.size()
            ? source
            : new Project(Sequences.of(new ArrayList<NamedExpression>(columns)), source);
    return new Branches(pruned, queries.stream().map(query -> part(query, columns)).toList());
  }

  private static void collectRead(LogicalPlan query, Set<ExprId> read) {
    query.foreachWithSubqueries(
        node -> {
          for (var column : CollectionConverters.asJava(node.references().toSeq()))
            read.add(column.exprId());
          return null;
        });
  }

  private static BatchPart part(LogicalPlan query, List<Attribute> columns) {
    var rows = relation(columns);
    var body = Plans.transformStreams(query, node -> node instanceof LocalRelation ? rows : node);
    // Spark keeps the stand-in if it is equal to the new relation, and a part needs the very node.
    var used = Plans.list(body.collectLeaves()).stream().filter(LogicalPlan::isStreaming);
    return new BatchPart(body, used.findFirst().orElseThrow(), "");
  }

  private static LocalRelation relation(List<Attribute> columns) {
    return new LocalRelation(Sequences.of(columns), Sequences.of(), true, Option.empty());
  }

  /**
   * Returns the kind of the first node that needs more than one row of the source, or of an
   * expression that needs the source's files, or null.
   */
  public static String refused(LogicalPlan query) {
    var readsFiles =
        query.exists(
            node ->
                Plans.list(node.expressions()).stream()
                    .anyMatch(each -> each.exists(part -> part instanceof InputFileName)));
    return readsFiles ? "InputFileName" : RowsInBatch.firstOther(query);
  }

  /**
   * Returns the column that cannot be written to a file between the source and a branch, or null.
   */
  public Attribute unstorable() {
    var format = new ParquetFileFormat();
    return Plans.list(source.output()).stream()
        .filter(column -> !format.supportDataType(column.dataType()))
        .findFirst()
        .orElse(null);
  }
}
