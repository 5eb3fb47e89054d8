package dev.jetsql.rewrites;

import dev.jetsql.common.Json;
import dev.jetsql.plans.Plans;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.jdk.javaapi.CollectionConverters;

/** Proves that no two rows of a batch have the same key. */
public final class DistinctKeys {
  private DistinctKeys() {}

  /**
   * Returns whether a batch of a query has at most one row for each key. Each batch of an aggregate
   * has one row for each group, also of an aggregate of a stream. Spark's own reasoning about other
   * operators is of whole results, which a batch of a stream is not.
   *
   * @param keys the names of the key columns, a JSON array
   */
  public static boolean areProven(LogicalPlan query, String keys) {
    var names =
        Json.readTexts(keys).stream()
            .map(name -> name.toLowerCase(Locale.ROOT))
            .collect(Collectors.toSet());
    var plan = Plans.withoutNames(query);
    return isAggregate(plan) && areDistinct(plan, names);
  }

  private static boolean isAggregate(LogicalPlan plan) {
    var node = plan;
    while (node instanceof Project || node instanceof Filter) node = node.children().head();
    return node instanceof Aggregate;
  }

  private static boolean areDistinct(LogicalPlan query, Set<String> names) {
    var ids =
        Plans.list(query.output()).stream()
            .filter(column -> names.contains(column.name().toLowerCase(Locale.ROOT)))
            .map(Attribute::exprId)
            .collect(Collectors.toSet());
    return CollectionConverters.asJava(query.distinctKeys()).stream()
        .anyMatch(
            set ->
                CollectionConverters.<Expression>asJava(set).stream()
                    .allMatch(part -> part instanceof Attribute key && ids.contains(key.exprId())));
  }
}
