package dev.jetsql.lineage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import dev.jetsql.plans.Plans;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The lineage of the body of a job as JSON: the tables that it reads, and for each table that it
 * writes, the columns on which each column and the rows depend.
 *
 * <p>A dependency is an array of the index of a table, a column, and the ways in which the value
 * depends on it: `IDENTITY`, or with a mark `MASKED TRANSFORMATION`.
 */
public final class LineageFacts {
  private final Datasets datasets;
  private final ObjectNode facts = Json.MAPPER.createObjectNode();
  private final ColumnLineage source;
  private final LogicalPlan rows;
  private final ColumnLineage.Scope scope;

  /**
   * Reads the query of a job.
   *
   * @param rows the analysed query; of a body with several INSERTs, the one that all of them read
   */
  public LineageFacts(SparkSession session, LogicalPlan rows) {
    this.datasets = new Datasets(session);
    this.source = new ColumnLineage(datasets);
    this.rows = rows;
    this.scope = source.read(rows, ColumnLineage.Scope.empty());
    facts.putArray("outputs");
    facts.putObject("rules");
  }

  /** Adds a table that gets all rows. sink: its facts, see `Tables` */
  public void addTable(JsonNode sink) {
    write(sink, rows, scope, source.rows());
  }

  /** Adds a table that gets the result of a query over the rows. sink: its facts */
  public void addTable(JsonNode sink, LogicalPlan query) {
    var part = new ColumnLineage(datasets);
    var columns = part.read(query, scope);
    var deciding = new Dependencies();
    deciding.add(source.rows());
    deciding.add(part.rows());
    write(sink, query, columns, deciding);
  }

  /** Adds a rule. removes: whether rows that violate it are not written to the first table */
  public void addRule(String name, Expression condition, boolean removes) {
    var read = new ValueLineage(source, scope).of(condition);
    var filter = read.indirect(Dependencies.Kind.FILTER);
    write(filter, ((ObjectNode) facts.get("rules")).putArray(name));
    if (removes) source.rows().add(filter);
  }

  private static void write(Dependencies value, ArrayNode array) {
    value
        .uses()
        .forEach(
            (column, uses) -> {
              var written = array.addArray().add(column.dataset()).add(column.name());
              for (var use : uses)
                written.add((use.masking() ? "MASKED " : "") + use.kind().name());
            });
  }

  private void write(
      JsonNode sink, LogicalPlan query, ColumnLineage.Scope columns, Dependencies deciding) {
    var output = ((ArrayNode) facts.get("outputs")).addObject();
    var table = Datasets.shortened(sink);
    output.set("dataset", table);
    var described = table.putArray("columns");
    var fields = output.putObject("fields");
    var rows = new Dependencies();
    rows.add(deciding);
    for (var column : Plans.list(query.output())) {
      if (column.name().equals(Plans.DELETED)) {
        rows.add(columns.get(column.exprId()).indirect(Dependencies.Kind.FILTER));
        continue;
      }
      described
          .addArray()
          .add(column.name())
          .add(column.dataType().catalogString().replace(" collate UTF8_BINARY", ""));
      var value = columns.get(column.exprId());
      if (!value.uses().isEmpty()) write(value, fields.putArray(column.name()));
    }
    write(rows, output.putArray("rows"));
  }

  /** Returns the facts as a JSON object. */
  public String json() {
    facts.set("inputs", datasets.facts());
    return Json.write(facts);
  }
}
