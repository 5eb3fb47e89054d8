package dev.jetsql.bodies;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.Tables;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.plans.Plans;
import dev.jetsql.stream.SourceOptions;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.PartialFunction;

/** The positions at which a job begins to read its sources, in the query of a run. */
public final class StartPositions {
  private static final String MODIFIED = "file_modification_time";

  private StartPositions() {}

  /**
   * Returns the query whose sources begin at their positions. A source of files begins at a time:
   * rows of files that were modified before do not reach the query.
   *
   * @param positions by the qualified name of the table, JSON: {"spark_catalog.default.orders":
   *     {"options": {"startingOffsets": "..."}, "since": null}}. Each position has options of the
   *     connector, or the time since which files are read, in microseconds since the epoch
   */
  public static LogicalPlan apply(LogicalPlan query, String positions) {
    JsonNode all = Json.read(positions);
    var missing = new HashSet<String>();
    all.fieldNames().forEachRemaining(missing::add);
    var begun =
        query.transformUp(
            PartialFunction.fromFunction(
                node -> {
                  String name = name(node);
                  JsonNode position = name == null ? null : all.get(name);
                  if (position == null) return node;
                  missing.remove(name);
                  return begin(node, position);
                }));
    if (missing.isEmpty()) return begun;
    throw Exceptions.raise(
        JetSqlException.of(
            "START_NOT_POSSIBLE",
            "0A000",
            "The query does not read " + String.join(", ", missing) + " where its job begins."));
  }

  private static LogicalPlan begin(LogicalPlan source, JsonNode position) {
    if (position.hasNonNull("since"))
      return since((StreamingRelation) source, position.get("since").asLong());
    UnaryOperator<Map<String, String>> change = options -> with(options, position.get("options"));
    return SourceOptions.changeLeaf(source, change);
  }

  private static Map<String, String> with(Map<String, String> options, JsonNode added) {
    var changed = new HashMap<>(options);
    added
        .properties()
        .forEach(
            option -> {
              changed.keySet().removeIf(name -> name.equalsIgnoreCase(option.getKey()));
              changed.put(option.getKey(), option.getValue().asText());
            });
    return changed;
  }

  /** Returns the rows of a source of files that were modified at a time or later. */
  private static LogicalPlan since(StreamingRelation files, long micros) {
    var columns = new ArrayList<Attribute>(Plans.list(files.output()));
    var known = columns.stream().filter(Plans::isMetadata).findFirst();
    Attribute metadata = known.orElseGet(() -> files.metadataOutput().head());
    var read = files;
    if (known.isEmpty()) {
      columns.add(metadata);
      read = CaseClasses.copy(files, Map.of("output", Sequences.of(columns)));
    }
    var field = ((StructType) metadata.dataType()).fieldIndex(MODIFIED);
    var modified = new GetStructField(metadata, field, Option.apply(MODIFIED));
    var time = Literal.create(micros, DataTypes.TimestampType);
    var filtered = new Filter(new GreaterThanOrEqual(modified, time), read);
    List<NamedExpression> output = new ArrayList<>(Plans.list(files.output()));
    return new Project(Sequences.of(output), filtered);
  }

  /** Returns the qualified name of the table that a node reads as a stream, or null. */
  private static String name(LogicalPlan node) {
    if (node instanceof StreamingRelation files) {
      var table = files.dataSource().catalogTable();
      return table.isEmpty() ? null : Tables.facts(table.get()).get("table").asText();
    }
    if (!(node instanceof StreamingRelationV2 stream)) return null;
    var kafka = KafkaTable.ofStream(stream);
    if (kafka != null) return String.join(".", kafka);
    if (stream.identifier().isEmpty()) return null;
    return CatalogTables.name(
        CatalogTables.catalogName(stream.catalog()), stream.identifier().get());
  }
}
