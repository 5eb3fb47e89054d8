package dev.jetsql.records;

import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The columns of a table in the plan that reads its source. */
public final class SourceColumns {
  /**
   * The metadata key of a column whose expression belongs to the table and not to the query that
   * reads it.
   */
  public static final String KEY = "jetsql.column";

  /** The metadata of these columns. */
  public static final Metadata MARK = new MetadataBuilder().putBoolean(KEY, true).build();

  private SourceColumns() {}

  /**
   * Returns rows with the names, expression ids and metadata of other columns, which the query
   * references.
   */
  public static LogicalPlan project(LogicalPlan rows, Seq<Attribute> columns) {
    List<NamedExpression> aliases = new ArrayList<>();
    for (Attribute column : CollectionConverters.asJava(columns)) {
      aliases.add(
          new Alias(
              attribute(rows, column.name()),
              column.name(),
              column.exprId(),
              Sequences.of(),
              Option.apply(column.metadata()),
              Sequences.of()));
    }
    return new Project(Sequences.of(aliases), rows);
  }

  private static Attribute attribute(LogicalPlan rows, String name) {
    return CollectionConverters.asJava(rows.output()).stream()
        .filter(column -> column.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException(name));
  }
}
