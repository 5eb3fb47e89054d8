package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.SchemaType;
import dev.jetsql.records.CsvRecords;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.SchemaUtils;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Checks new columns of a Kafka table, as CREATE TABLE checks its columns. The messages stay as
 * they are: one without the field is a row with NULL.
 */
public final class AddedColumns {
  private final KafkaTable kafka;
  private final Origin origin;

  private AddedColumns(KafkaTable kafka, Origin origin) {
    this.kafka = kafka;
    this.origin = origin;
  }

  /** Returns all columns of a table after the change. Throws errors at `origin`. */
  public static StructType check(
      SparkSession session, CatalogTable table, Seq<StructField> columns, Origin origin) {
    KafkaTable kafka = new KafkaTable(session, table, Map.of());
    AddedColumns added = new AddedColumns(kafka, origin);
    StructType all = table.schema();
    for (StructField column : CollectionConverters.asJava(columns)) {
      added.check(column);
      all = all.add(kafka.isByOrder() ? CsvRecords.added(column) : column);
    }
    SchemaUtils.checkSchemaColumnNameDuplication(
        all, session.sessionState().conf().caseSensitiveAnalysis());
    KafkaOptions.check(kafka.options(), all);
    added.checkSchema(CollectionConverters.asJava(columns));
    return all;
  }

  private void check(StructField column) {
    if (kafka.isRaw())
      throw refused(
          column,
          "the columns of the table are Kafka's own. Create another table for the topic, with"
              + " columns and 'value.format'.");
    if (KafkaOptions.contains(List.of(kafka.metadataColumns().fieldNames()), column.name()))
      throw refused(
          column, "queries read a field of Kafka's messages with this name. Use another name.");
    if (column.getCurrentDefaultValue().isDefined())
      throw refused(
          column,
          "messages that were written before would be rows with NULL, not with the DEFAULT. Leave"
              + " it out, and write coalesce("
              + column.name()
              + ", ...) in the query.");
  }

  /** Checks that the messages can have the columns, if their format has a schema of its own. */
  private void checkSchema(List<StructField> columns) {
    if (ProtobufFormat.isChosen(kafka.options())) {
      if (RegistryOptions.hasRegistry(kafka.options(), SchemaType.PROTOBUF))
        checkRegistered(columns);
      return; // the options were checked with the descriptor
    }
    if (!KafkaFormat.needsAvro(kafka.option("value.format"))) return;
    if (RegistryOptions.hasRegistry(kafka.options(), SchemaType.AVRO)) {
      String version = RegistryOptions.option(SchemaType.AVRO, RegistryOptions.VERSION);
      if (kafka.option(version) != null) checkRegistered(columns);
    } else if (kafka.option("avro.schema") == null) {
      throw refused(
          columns.get(0),
          "messages of Avro without a schema registry can only be read with the schema that they"
              + " were written with. Create a table for another topic, or use a schema registry.");
    }
  }

  private void checkRegistered(List<StructField> columns) {
    StructType registered = kafka.registeredColumns();
    for (StructField column : columns) {
      if (KafkaFormat.fieldName(registered, column.name()) != null) continue;
      throw refused(
          column,
          "the schema of the table's subject in the schema registry has no such field. Register a"
              + " version with the field first. Its fields: "
              + String.join(", ", registered.fieldNames())
              + ".");
    }
  }

  private RuntimeException refused(StructField column, String reason) {
    return Exceptions.raise(
        JetSqlException.at(
            origin,
            "NOT_SUPPORTED",
            "0A000",
            "Cannot add the column " + column.name() + " to " + kafka.name() + ": " + reason));
  }
}
