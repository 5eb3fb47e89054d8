package dev.jetsql.kafka;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A table USING kafka as the catalog has it: its topic, its columns, and the formats of its
 * messages.
 *
 * <p>Spark itself can only read a topic as a batch, with Kafka's own columns and without the name
 * of the table. So reads become `KafkaRead`, and INSERT gets a relation that Spark can insert into.
 */
public final class KafkaTable {
  /** Kafka's own columns, in the connector's order. */
  static final StructType MESSAGE =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("value", DataTypes.BinaryType)
          .add("topic", DataTypes.StringType)
          .add("partition", DataTypes.IntegerType)
          .add("offset", DataTypes.LongType)
          .add("timestamp", DataTypes.TimestampType)
          .add("timestampType", DataTypes.IntegerType);

  static final StructType MESSAGE_WITH_HEADERS =
      MESSAGE.add(
          "headers",
          DataTypes.createArrayType(
              new StructType()
                  .add("key", DataTypes.StringType)
                  .add("value", DataTypes.BinaryType)));

  // Options of a source that `MessageDecoder` adds, by which the reader of a plan finds the table.
  static final String TABLE = "jetsql.table";
  static final String CREATED = "jetsql.created";
  static final String ON_ERROR = "jetsql.on.error";

  /**
   * Metadata of a column of the table: its expression belongs to the table and not to the query
   * that reads it.
   */
  public static final String IS_COLUMN = "jetsql.column";

  private final SparkSession session;
  private final CatalogTable table;
  private final Map<String, String> options;

  /**
   * Describe a table of the catalog.
   *
   * @param session null where only options and columns are asked for
   * @param given options of the query (WITH), which override the table's
   */
  public KafkaTable(SparkSession session, CatalogTable table, Map<String, String> given) {
    this.session = session;
    this.table = table;
    this.options = new HashMap<>(CollectionConverters.asJava(table.storage().properties()));
    given.forEach(
        (name, value) -> {
          OptionMaps.remove(options, name);
          options.put(name, value);
        });
  }

  /** Return the table of this name, ready to be read and written. */
  public static KafkaTable load(SparkSession session, String schema, String name) {
    CatalogTable found = session.sharedState().externalCatalog().getTable(schema, name);
    KafkaTable kafka = new KafkaTable(session, found, Map.of());
    kafka.loadModules();
    return kafka;
  }

  /** Load the modules of Spark that reading and writing the table need. */
  public void loadModules() {
    KafkaConnector.load(session.sparkContext());
    if ("avro".equalsIgnoreCase(option("value.format"))
        || "avro".equalsIgnoreCase(option("key.format"))) {
      KafkaConnector.loadAvro(session.sparkContext());
    }
  }

  /** Return whether a table of the catalog is USING kafka. */
  public static boolean isKafka(CatalogTable table) {
    return table.provider().isDefined() && "kafka".equalsIgnoreCase(table.provider().get());
  }

  /** Return the columns of a table whose statement names none. */
  static StructType messageColumns(CatalogTable table) {
    boolean headers =
        "true".equalsIgnoreCase(new KafkaTable(null, table, Map.of()).option("includeHeaders"));
    return headers ? MESSAGE_WITH_HEADERS : MESSAGE;
  }

  /**
   * Add the facts of the table to the description of a source, if a Kafka table made the source.
   */
  public static void describe(Map<String, String> sourceOptions, ObjectNode source) {
    if (!sourceOptions.containsKey(TABLE)) return;
    source.put("table", sourceOptions.get(TABLE));
    source.put("created", Long.parseLong(sourceOptions.get(CREATED)));
    source.put("on_error", sourceOptions.get(ON_ERROR));
    source.put("servers", OptionMaps.get(sourceOptions, "kafka.bootstrap.servers"));
    for (String name : List.of("subscribe", "subscribePattern", "assign")) {
      String found = OptionMaps.find(sourceOptions, name);
      if (found != null) source.put("location", sourceOptions.get(found));
    }
  }

  SparkSession session() {
    return session;
  }

  CatalogTable catalogTable() {
    return table;
  }

  Map<String, String> options() {
    return options;
  }

  /** Return the value of an option, or null if it is not given. */
  String option(String name) {
    return OptionMaps.get(options, name);
  }

  /** Return the topic that rows are written to, or null for a table that reads several. */
  public String topic() {
    return option("topic");
  }

  public String name() {
    return String.join(".", parts());
  }

  public Seq<String> nameParts() {
    return CollectionConverters.asScala(parts()).toSeq();
  }

  private List<String> parts() {
    return List.of(
        "spark_catalog", table.identifier().database().get(), table.identifier().table());
  }

  /** Return whether messages that do not fit the columns go to a dead-letter table. */
  boolean hasDeadLetters() {
    String onError = option("on.error");
    return onError != null && onError.toLowerCase(Locale.ROOT).startsWith("table:");
  }

  /** Return whether the columns are Kafka's own. */
  public boolean isRaw() {
    return option("value.format") == null;
  }

  /** Return whether the value of a message is one column, as bytes or text. */
  boolean hasRawValue() {
    return "raw".equalsIgnoreCase(option("value.format"));
  }

  /** Return the watermark of streams, or null if the table has none. */
  Watermark watermark() {
    return option("watermark") == null ? null : Watermark.parse(option("watermark"));
  }

  /** Return the names of the table's columns. */
  List<String> columnNames() {
    return List.of(table.schema().fieldNames());
  }

  /**
   * Return the columns of a read. All are nullable, and the column of a stream's watermark carries
   * the delay.
   */
  StructType columns(boolean streaming) {
    Watermark watermark = streaming ? watermark() : null;
    StructType columns = new StructType();
    for (StructField column : withoutCharTypes(table.schema()).fields()) {
      Metadata metadata = column.metadata();
      if (watermark != null && column.name().equalsIgnoreCase(watermark.column())) {
        String key = EventTimeWatermark$.MODULE$.delayKey();
        metadata =
            new MetadataBuilder()
                .withMetadata(metadata)
                .putLong(key, watermark.delayMillis())
                .build();
      }
      columns = columns.add(new StructField(column.name(), column.dataType(), true, metadata));
    }
    return columns;
  }

  /** Return Kafka's fields that a table with other columns has as metadata columns. */
  StructType metadataColumns() {
    return isRaw()
        ? new StructType()
        : new StructType()
            .add("_topic", DataTypes.StringType)
            .add("_partition", DataTypes.IntegerType)
            .add("_offset", DataTypes.LongType)
            .add("_timestamp", DataTypes.TimestampType)
            .add("_key", DataTypes.BinaryType);
  }

  /** Return the format of the messages' values. */
  KafkaFormat valueFormat() {
    List<String> keys = hasRawValue() ? keyColumns() : List.of();
    return new KafkaFormat(option("value.format"), columnsExcept(keys), options);
  }

  /**
   * Return the format of the keys: by default raw for one column that is a text, otherwise JSON.
   */
  KafkaFormat keyFormat() {
    StructType columns = new StructType();
    for (String name : keyColumns()) columns = columns.add(nullableColumns().apply(name));
    boolean oneText = columns.length() == 1 && KafkaFormat.isText(columns.apply(0).dataType());
    String name = option("key.format");
    return KafkaFormat.ofKeys(name != null ? name : oneText ? "raw" : "json", columns, options);
  }

  /** Return the columns of the option `key.columns`, as the table spells them. */
  List<String> keyColumns() {
    List<String> columns = new ArrayList<>();
    for (String wanted : columnList(option("key.columns"))) {
      for (String name : table.schema().fieldNames())
        if (name.equalsIgnoreCase(wanted)) columns.add(name);
    }
    return columns;
  }

  /** Return the names in a list with commas between, without their quotes; none for null. */
  static List<String> columnList(String text) {
    return text == null
        ? List.of()
        : Arrays.stream(text.split(",")).map(KafkaTable::withoutQuotes).toList();
  }

  private static String withoutQuotes(String name) {
    return name.trim().replaceAll("^[`\"]|[`\"]$", "");
  }

  /** Return the table's columns without these, all nullable. */
  StructType columnsExcept(List<String> names) {
    StructType columns = new StructType();
    for (StructField column : nullableColumns().fields()) {
      if (!names.contains(column.name())) columns = columns.add(column);
    }
    return columns;
  }

  private StructType nullableColumns() {
    StructType columns = new StructType();
    for (StructField column : withoutCharTypes(table.schema()).fields()) {
      columns = columns.add(column.name(), column.dataType());
    }
    return columns;
  }

  /** Return columns as queries know them, which have STRING instead of CHAR and VARCHAR. */
  private static StructType withoutCharTypes(StructType columns) {
    return CharVarcharUtils.replaceCharVarcharWithStringInSchema(columns);
  }

  /** Return the options of a writer as JSON, see `ConnectorOptions`. */
  public String writeOptions(boolean inBatches) throws Exception {
    return Json.MAPPER.writeValueAsString(ConnectorOptions.ofWriter(this, inBatches));
  }

  /**
   * Return the messages of a range of offsets that do not fit the columns, see `MessageDecoder`.
   */
  public static Dataset<Row> deadLetters(
      SparkSession session,
      String schema,
      String name,
      String partitions,
      String start,
      String end) {
    var table = session.sharedState().externalCatalog().getTable(schema, name);
    return new MessageDecoder(new KafkaTable(session, table, Map.of()))
        .deadLetters(partitions, start, end);
  }

  /** Return rows as messages, see `MessageEncoder`. */
  public Dataset<Row> messages(Dataset<Row> rows, boolean deletes) {
    return new MessageEncoder(this).messages(rows, deletes);
  }

  /** Return rows as messages with all fields, see `MessageEncoder`. */
  public Dataset<Row> fullMessages(Dataset<Row> rows, boolean deletes) {
    return new MessageEncoder(this).fullMessages(rows, deletes);
  }

  /** Send rows with the connector's own writer. */
  void insert(Dataset<Row> rows) {
    KafkaTopicChecks.check(this, "write");
    messages(rows, false)
        .write()
        .format("kafka")
        .options(ConnectorOptions.ofWriter(this, true))
        .save();
  }

  /** Return the plan of the relation that INSERT writes to. */
  public LogicalPlan insertTarget() {
    return LogicalRelation$.MODULE$.apply(new KafkaInsertRelation(this), table);
  }

  /** Raise the error of INSERT OVERWRITE. */
  public static RuntimeException overwriteRefused(Origin place) {
    return Exceptions.raise(
        JetSqlException.at(
            place,
            "UNSUPPORTED_SINK",
            "0A000",
            "INSERT OVERWRITE is not possible:"
                + " what is in a Kafka topic can't be replaced. Use INSERT INTO."));
  }
}
