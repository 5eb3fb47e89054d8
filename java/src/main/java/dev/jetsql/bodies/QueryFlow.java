package dev.jetsql.bodies;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The way of the rows of a streaming query: which sources and stateful operators each stateful
 * operator reads, and which ones the result comes from.
 */
final class QueryFlow {
  static final String SOURCE = "source";

  private final Map<ExprId, Attribute> sourceColumns;
  private final List<Set<String>> inputs = new ArrayList<>();

  private QueryFlow(Map<ExprId, Attribute> sourceColumns) {
    this.sourceColumns = sourceColumns;
  }

  /** Returns whether an operator is one of those that are listed as stateful. */
  static boolean isListed(LogicalPlan node) {
    return node.isStreaming() && (node instanceof EventTimeWatermark || Plans.keepsState(node));
  }

  /**
   * Adds the inputs of each operator as "operator_inputs" and those of the result as
   * "result_inputs": "source 0", "state 1" and so on. Operators in subqueries have none.
   *
   * @param sourceColumns columns of the sources, with names such as "source0.id"
   */
  static void describe(LogicalPlan query, Map<ExprId, Attribute> sourceColumns, ObjectNode facts) {
    var flow = new QueryFlow(sourceColumns);
    addAll(facts.putArray("result_inputs"), flow.outputOf(query));
    var operators = facts.putArray("operator_inputs");
    flow.inputs.forEach(each -> addAll(operators.addArray(), each));
  }

  private static void addAll(ArrayNode array, Set<String> names) {
    names.forEach(array::add);
  }

  /** Returns what the rows of a node come from. Operators are numbered from the result on. */
  private Set<String> outputOf(LogicalPlan node) {
    if (!node.isStreaming()) return Set.of();
    var children = CollectionConverters.asJava(node.children());
    if (children.isEmpty()) return source(node);
    var names = new LinkedHashSet<String>();
    if (!isListed(node)) {
      children.forEach(child -> names.addAll(outputOf(child)));
      return names;
    }
    var number = inputs.size();
    inputs.add(names);
    children.forEach(child -> names.addAll(outputOf(child)));
    return Set.of("state " + number);
  }

  private Set<String> source(LogicalPlan leaf) {
    for (var column : CollectionConverters.asJava(leaf.output())) {
      var known = sourceColumns.get(column.exprId());
      if (known == null) continue;
      var number = known.name().substring(SOURCE.length(), known.name().indexOf('.'));
      return Set.of(SOURCE + " " + number);
    }
    return Set.of();
  }
}
