package dev.jetsql.lineage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.Tables;
import dev.jetsql.common.Json;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.plans.Plans;
import dev.jetsql.records.FileStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The tables and sources that a query reads, as facts for JSON: name, format and columns, and what
 * identifies the place of the rows. They have no secret options.
 */
final class Datasets {
  private final SparkSession session;
  private final List<ObjectNode> all = new ArrayList<>();

  Datasets(SparkSession session) {
    this.session = session;
  }

  ArrayNode facts() {
    return Json.MAPPER.createArrayNode().addAll(all);
  }

  /** Returns the index of what a leaf of a plan reads, or -1 for rows without a source. */
  int add(LogicalPlan leaf, List<Attribute> columns) {
    var facts = read(leaf);
    if (facts == null) return -1;
    for (int i = 0; i < all.size(); i++) if (isSame(all.get(i), facts)) return i;
    var described = facts.putArray("columns");
    for (var column : columns)
      if (!Plans.isMetadata(column)) {
        var type = column.dataType().catalogString().replace(" collate UTF8_BINARY", "");
        described.addArray().add(column.name()).add(type);
      }
    all.add(facts);
    return all.size() - 1;
  }

  private static boolean isSame(ObjectNode one, ObjectNode other) {
    var known = one.deepCopy();
    known.remove("columns");
    return known.equals(other);
  }

  private ObjectNode read(LogicalPlan leaf) {
    if (leaf instanceof StreamingRelation relation) {
      var read = relation.dataSource();
      var made =
          read.catalogTable().isDefined()
              ? ofTable(read.catalogTable().get())
              : place(Json.MAPPER.createObjectNode(), options(read.options()));
      return made.put("format", FileStream.format(read));
    }
    if (leaf instanceof StreamingRelationV2 relation) {
      var source = Json.MAPPER.createObjectNode();
      KafkaTable.describe(relation.extraOptions(), source);
      if (source.has("servers")) {
        var made = Json.MAPPER.createObjectNode().put("format", "kafka");
        made.set("table", source.get("table"));
        made.set("servers", source.get("servers"));
        made.set("topics", source.get("location"));
        return made;
      }
      if (relation.identifier().isDefined())
        return shortened(
            CatalogTables.facts(
                CatalogTables.catalogName(relation.catalog()),
                relation.identifier().get(),
                relation.table()));
      return Json.MAPPER.createObjectNode().put("format", relation.sourceName());
    }
    if (leaf instanceof LogicalRelation relation && relation.catalogTable().isDefined())
      return ofTable(relation.catalogTable().get());
    if (leaf instanceof DataSourceV2Relation relation && relation.identifier().isDefined())
      return shortened(
          CatalogTables.facts(
              CatalogTables.catalogName(relation.catalog()),
              relation.identifier().get(),
              relation.table()));
    return null;
  }

  private ObjectNode ofTable(CatalogTable table) {
    return shortened(CatalogTables.withFormat(session, Tables.facts(table)));
  }

  /** Returns the facts of a table that name it. facts: see `Tables` */
  static ObjectNode shortened(JsonNode facts) {
    var made = Json.MAPPER.createObjectNode();
    made.set("table", facts.path("table"));
    made.put("format", facts.path("provider").asText());
    made.put("location", facts.path("location").asText());
    return place(made, facts.path("options"));
  }

  private static JsonNode options(scala.collection.immutable.Map<String, String> options) {
    return Json.MAPPER.valueToTree(CollectionConverters.asJava(options));
  }

  private static ObjectNode place(ObjectNode made, JsonNode options) {
    for (var option : options.properties()) {
      var value = option.getValue().asText();
      switch (option.getKey().toLowerCase(java.util.Locale.ROOT)) {
        case "kafka.bootstrap.servers" -> made.put("servers", value);
        case "topic", "subscribe", "subscribepattern", "assign" -> made.put("topics", value);
        case "url" -> made.put("url", value);
        case "dbtable" -> made.put("dbtable", value);
        case "path" -> {
          if (made.path("location").asText().isEmpty()) made.put("location", value);
        }
        default -> {}
      }
    }
    if (made.has("url") || made.has("servers")) made.remove("location");
    return made;
  }
}
