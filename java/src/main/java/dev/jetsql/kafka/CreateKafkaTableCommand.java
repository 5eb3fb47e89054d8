package dev.jetsql.kafka;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.CreateExternalTable;
import dev.jetsql.common.Exceptions;
import dev.jetsql.versions.CaseClasses;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.SchemaUtils;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Creates a Kafka table in the catalog and, for AS SELECT, writes the rows to its topic. Spark's
 * own command accepts only the connector's options and columns. Spark performs all earlier steps:
 * the resolution of names, columns and the location.
 */
public final class CreateKafkaTableCommand extends CreateExternalTable {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the command. The constructor is public because Spark copies plans by reflection.
   *
   * @param query null without AS SELECT
   */
  public CreateKafkaTableCommand(CatalogTable table, boolean ifNotExists, LogicalPlan query) {
    super(table, ifNotExists, query);
  }

  @Override
  public Seq<Row> run(SparkSession sparkSession) {
    var session = (org.apache.spark.sql.classic.SparkSession) sparkSession;
    SessionCatalog catalog = session.sessionState().catalog();
    Seq<Row> noRows = CollectionConverters.asScala(List.<Row>of()).toSeq();
    if (ifNotExists && catalog.tableExists(table.identifier())) return noRows;
    if (query != null) {
      boolean caseSensitive = session.sessionState().conf().caseSensitiveAnalysis();
      SchemaUtils.checkSchemaColumnNameDuplication(query.schema(), caseSensitive);
      KafkaOptions.check(CollectionConverters.asJava(table.storage().properties()), query.schema());
    }
    CatalogStorageFormat storage = storage();
    catalog.createTable(defined(storage, columns(session, storage)), ifNotExists, false);
    if (query != null) fill(session, catalog);
    return noRows;
  }

  private StructType columns(
      org.apache.spark.sql.classic.SparkSession session, CatalogStorageFormat storage) {
    KafkaTable kafka = new KafkaTable(session, defined(storage, table.schema()), Map.of());
    StructType given = query != null ? query.schema() : table.schema();
    if (given.length() > 0) {
      // The file may have changed since the options were checked.
      if (ProtobufFormat.isChosen(kafka.options())) KafkaOptions.check(kafka.options(), given);
      return given;
    }
    if (kafka.isRaw()) return KafkaTable.messageColumns(table);
    StructType columns =
        ProtobufFormat.hasDescriptor(kafka.options())
            ? ProtobufFormat.schema(kafka.options()).columns()
            : kafka.registeredColumns();
    KafkaOptions.check(kafka.options(), columns);
    return columns;
  }

  private void fill(org.apache.spark.sql.classic.SparkSession session, SessionCatalog catalog) {
    try {
      CatalogTable created = catalog.getTableMetadata(table.identifier());
      var rows = Dataset.ofRows(session, query);
      ApprovedPlans.run(() -> new KafkaTable(session, created, Map.of()).insert(rows));
    } catch (Exception e) {
      catalog.dropTable(table.identifier(), true, false);
      throw Exceptions.raise(e);
    }
  }

  /** Returns the options with the content of a descriptor file in place of its name. */
  private CatalogStorageFormat storage() {
    CatalogStorageFormat storage = table.storage();
    Map<String, String> options = new HashMap<>(CollectionConverters.asJava(storage.properties()));
    if (!ProtobufFormat.hasDescriptor(options)) return storage;
    String content = ProtobufFormat.content(options);
    OptionMaps.remove(options, ProtobufFormat.FILE);
    options.put(ProtobufFormat.CONTENT, content);
    var properties = scala.collection.immutable.Map.from(CollectionConverters.asScala(options));
    return CaseClasses.copy(storage, Map.of("properties", properties));
  }

  private CatalogTable defined(CatalogStorageFormat storage, StructType columns) {
    return CaseClasses.copy(table, Map.of("storage", storage, "schema", columns));
  }
}
