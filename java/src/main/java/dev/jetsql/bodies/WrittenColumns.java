package dev.jetsql.bodies;

import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The columns that the INSERT of a job writes: those that its table had when the job was created.
 * Columns that were added later are NULL in its rows, as Spark's INSERT with a list of columns does
 * it.
 */
final class WrittenColumns {
  private WrittenColumns() {}

  /**
   * Returns an INSERT with a list of its columns, if it names none.
   *
   * @param columns a JSON array; null for all columns of the table
   */
  static LogicalPlan named(LogicalPlan statement, String columns) {
    if (columns == null
        || !(statement instanceof InsertIntoStatement insert)
        || !insert.userSpecifiedCols().isEmpty()
        || insert.byName()) return statement;
    Set<String> fixed = new HashSet<>();
    for (var partition : CollectionConverters.asJava(insert.partitionSpec()).entrySet())
      if (partition.getValue().isDefined()) fixed.add(lower(partition.getKey()));
    var names =
        Json.readTexts(columns).stream().filter(name -> !fixed.contains(lower(name))).toList();
    return CaseClasses.copy(insert, Map.of("userSpecifiedCols", Sequences.of(names)));
  }

  /** Returns the query of an INSERT without the columns that Spark has added to it. */
  static LogicalPlan only(LogicalPlan query, String columns) {
    if (columns == null || query == null) return query;
    Set<String> known = new HashSet<>();
    Json.readTexts(columns).forEach(name -> known.add(lower(name)));
    List<NamedExpression> kept = new ArrayList<>();
    for (var column : CollectionConverters.asJava(query.output()))
      if (known.contains(lower(column.name()))) kept.add(column);
    return kept.size() < known.size() || kept.size() == query.output().size()
        ? query
        : new Project(Sequences.of(kept), query);
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
