package dev.jetsql.rights.gates;

import dev.jetsql.catalog.LiveTables;
import dev.jetsql.catalog.Tables;
import dev.jetsql.kafka.KafkaRead;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedPersistentView;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.catalog.UnresolvedCatalogRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import scala.Option;

/** The qualified names of the tables and views that nodes of a plan read or name. */
final class RelationNames {
  private RelationNames() {}

  /** Returns whether a node reads a table by itself. */
  static boolean isRead(LogicalPlan node) {
    return node instanceof LogicalRelation
        || node instanceof HiveTableRelation
        || node instanceof UnresolvedCatalogRelation
        || node instanceof DataSourceV2Relation
        || node instanceof DataSourceV2ScanRelation
        || node instanceof StreamingRelation
        || node instanceof StreamingRelationV2
        || node instanceof KafkaRead;
  }

  /** Returns whether a node reads a Kafka table as a stream. */
  static boolean isStreamOfKafka(LogicalPlan node) {
    return node instanceof KafkaRead kafka
        ? kafka.isStreaming()
        : node instanceof StreamingRelationV2 stream && KafkaTable.ofStream(stream) != null;
  }

  /**
   * Returns the name of the table that a node reads, or null if it reads files or another source
   * without a table.
   */
  static List<String> read(SparkSession session, LogicalPlan node) {
    if (node instanceof LogicalRelation relation) return of(session, relation.catalogTable());
    if (node instanceof HiveTableRelation relation) return of(session, relation.tableMeta());
    if (node instanceof UnresolvedCatalogRelation relation)
      return of(session, relation.tableMeta());
    if (node instanceof DataSourceV2Relation relation) {
      var live = LiveTables.name(relation.table());
      return live == null ? of(relation.catalog(), relation.identifier()) : live;
    }
    if (node instanceof DataSourceV2ScanRelation scan)
      return read(session, (LogicalPlan) scan.relation());
    if (node instanceof StreamingRelation stream)
      return of(session, stream.dataSource().catalogTable());
    if (node instanceof StreamingRelationV2 stream) {
      var kafka = KafkaTable.ofStream(stream);
      return kafka == null ? of(stream.catalog(), stream.identifier()) : kafka;
    }
    return node instanceof KafkaRead kafka ? Plans.list(kafka.table().nameParts()) : null;
  }

  /** Returns the name that a resolved part of a command has, or null for another node. */
  static List<String> named(LogicalPlan node) {
    if (node instanceof ResolvedTable table) return of(table.catalog(), table.identifier());
    if (node instanceof ResolvedPersistentView view) return of(view.catalog(), view.identifier());
    if (node instanceof ResolvedIdentifier named) return of(named.catalog(), named.identifier());
    return null;
  }

  static List<String> of(SparkSession session, TableIdentifier table) {
    var schema =
        table.database().isDefined()
            ? table.database().get()
            : session.sessionState().catalog().getCurrentDatabase();
    return List.of(Tables.CATALOG, schema, table.table());
  }

  static List<String> of(SparkSession session, CatalogTable table) {
    return of(session, table.identifier());
  }

  private static List<String> of(SparkSession session, Option<CatalogTable> table) {
    return table.isDefined() ? of(session, table.get()) : null;
  }

  private static List<String> of(Option<CatalogPlugin> catalog, Option<Identifier> table) {
    return catalog.isDefined() && table.isDefined() ? of(catalog.get(), table.get()) : null;
  }

  private static List<String> of(CatalogPlugin catalog, Identifier table) {
    var parts = new ArrayList<String>(List.of(catalog.name()));
    parts.addAll(List.of(table.namespace()));
    parts.add(table.name());
    return parts;
  }
}
