package dev.jetsql.bodies;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.Tables;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.options.TableOptions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/** What a job writes: the command of its INSERT, and the table, as facts for JSON. */
final class InsertFacts {
  private InsertFacts() {}

  /** Returns the columns by which rows of a table are updated. sink: the facts of the table */
  static List<String> keyColumns(JsonNode sink) {
    var options = sink.path("options");
    for (var name : (Iterable<String>) options::fieldNames) {
      if (name.equalsIgnoreCase("key.columns"))
        return Arrays.stream(options.get(name).asText().split(","))
            .map(key -> key.strip().replaceAll("^[`\"]|[`\"]$", ""))
            .filter(key -> !key.isEmpty())
            .toList();
    }
    var fields = sink.path("identifier_fields");
    return fields.isMissingNode() ? List.of() : Json.texts(fields);
  }

  /**
   * Returns the query of an INSERT, or null for any other command.
   *
   * @param columns the columns of the table that the command writes, a JSON array; null for all.
   *     Rows for a table of a catalog of Delta or Iceberg have all
   * @param facts receives the kind of the command, and the table that it writes
   */
  static LogicalPlan read(LogicalPlan command, String columns, ObjectNode facts) {
    var all = readQuery(command, facts);
    var query = command instanceof V2WriteCommand ? all : WrittenColumns.only(all, columns);
    if (facts.get("sink") instanceof ObjectNode sink) describeMisspelled(sink);
    return query;
  }

  private static void describeMisspelled(ObjectNode sink) {
    var names = new ArrayList<String>();
    sink.path("options").fieldNames().forEachRemaining(names::add);
    var misspelled = TableOptions.misspelled(sink.path("provider").asText(), names);
    if (misspelled == null) return;
    sink.put("misspelled", misspelled.getKey());
    sink.put("meant", misspelled.getValue());
  }

  private static LogicalPlan readQuery(LogicalPlan command, ObjectNode facts) {
    facts.put("command", command.getClass().getSimpleName());
    if (command instanceof InsertIntoHadoopFsRelationCommand insert) {
      facts.put("dynamic", insert.dynamicPartitionOverwrite());
      facts.put("static_partitions", insert.staticPartitions().size());
      describeSink(insert.catalogTable(), facts);
      return insert.query();
    }
    if (command instanceof InsertIntoDataSourceCommand insert) {
      describeSink(insert.logicalRelation().catalogTable(), facts);
      return insert.query();
    }
    if (command instanceof V2WriteCommand write
        && write.table() instanceof DataSourceV2Relation relation
        && relation.identifier().isDefined()) {
      facts.put("replaces_part", replacesPart(write));
      facts.put("replaces_partitions", write.getClass().getSimpleName().contains("Dynamic"));
      facts.set(
          "sink",
          CatalogTables.facts(
              CatalogTables.catalogName(relation.catalog()),
              relation.identifier().get(),
              relation.table()));
      return withoutNullChecks(write.query());
    }
    return null;
  }

  /**
   * Returns a query without the checks of columns that are NOT NULL. Spark makes them again when it
   * writes the rows of a batch, and a row that deletes its key may have NULL there.
   */
  private static LogicalPlan withoutNullChecks(LogicalPlan query) {
    return query instanceof Project project
        ? project.transformExpressions(
            PartialFunctions.<Expression, Expression>of(
                AssertNotNull.class::isInstance, node -> ((AssertNotNull) node).child()))
        : query;
  }

  /**
   * Returns whether a write replaces the partitions of the new rows, or the rows that meet a
   * condition. For the former, Spark has `OverwritePartitionsDynamic`, and Delta
   * `DeltaDynamicPartitionOverwriteCommand`.
   */
  private static boolean replacesPart(V2WriteCommand write) {
    if (write instanceof AppendData) return false;
    return !(write instanceof OverwriteByExpression overwrite)
        || !overwrite.deleteExpr().equals(Literal$.MODULE$.TrueLiteral());
  }

  private static void describeSink(Option<CatalogTable> table, ObjectNode facts) {
    if (table.isDefined()) facts.set("sink", Tables.facts(table.get()));
  }
}
