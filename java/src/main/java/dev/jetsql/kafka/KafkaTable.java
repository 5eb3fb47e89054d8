package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.lit;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.connections.ConnectedTables;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.SchemaType;
import dev.jetsql.plans.JobColumns;
import dev.jetsql.records.CsvRecords;
import dev.jetsql.records.OnError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
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
 * A table USING kafka in the catalog: its topic, its columns, and the formats of its messages.
 *
 * <p>Spark itself can read this table only as a batch, with Kafka's own columns and without the
 * table's name. JetSQL therefore replaces reads by `KafkaRead`, and the target of an INSERT by a
 * relation that Spark can insert into.
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

  public static final StructType MESSAGE_WITH_HEADERS =
      MESSAGE.add(
          "headers",
          DataTypes.createArrayType(
              new StructType()
                  .add("key", DataTypes.StringType)
                  .add("value", DataTypes.BinaryType)));

  // Options of a source that `MessageDecoder` adds, to identify the table in a plan.
  public static final String TABLE = "jetsql.table";
  static final String CREATED = "jetsql.created";
  static final String START = "jetsql.start";

  private final SparkSession session;
  private final CatalogTable table;
  private final Map<String, String> options;

  /**
   * Describes a table of the catalog.
   *
   * @param session null if only options and columns are used
   * @param queryOptions options of the query (WITH), which override the table's
   */
  public KafkaTable(SparkSession session, CatalogTable table, Map<String, String> queryOptions) {
    this.session = session;
    this.table = table;
    this.options = new HashMap<>(ConnectedTables.options("kafka", table));
    queryOptions.forEach(
        (name, value) -> {
          OptionMaps.remove(options, name);
          options.put(name, value);
        });
  }

  /**
   * Returns the table with this name, with the modules loaded to read and write it.
   *
   * @param columns the columns that a job knows, a JSON array; null for all
   */
  public static KafkaTable load(SparkSession session, String schema, String name, String columns) {
    CatalogTable table = session.sharedState().externalCatalog().getTable(schema, name);
    KafkaTable kafka = new KafkaTable(session, JobColumns.with(table, columns), Map.of());
    kafka.loadModules();
    return kafka;
  }

  /** Loads the modules of Spark that reading and writing the table need. */
  public void loadModules() {
    KafkaConnector.load(session.sparkContext());
    if (KafkaFormat.needsAvro(option("value.format"))
        || KafkaFormat.needsAvro(option("key.format"))) {
      KafkaConnector.loadAvro(session.sparkContext());
    }
  }

  /** Returns whether the provider of a table is kafka. */
  public static boolean isKafka(CatalogTable table) {
    return table.provider().isDefined() && "kafka".equalsIgnoreCase(table.provider().get());
  }

  /** Returns the columns of a table that was created without columns. */
  static StructType messageColumns(CatalogTable table) {
    boolean headers =
        "true".equalsIgnoreCase(new KafkaTable(null, table, Map.of()).option("includeHeaders"));
    return headers ? MESSAGE_WITH_HEADERS : MESSAGE;
  }

  /**
   * Adds the facts of the table to the description of a source, if the source belongs to a Kafka
   * table.
   */
  public static void describe(Map<String, String> sourceOptions, ObjectNode source) {
    if (!sourceOptions.containsKey(TABLE)) return;
    source.put("table", sourceOptions.get(TABLE));
    source.put("created", Long.parseLong(sourceOptions.get(CREATED)));
    source.put("on_error", sourceOptions.get(OnError.APPLIED));
    source.put("start_option", sourceOptions.get(START));
    source.put("servers", OptionMaps.get(sourceOptions, "kafka.bootstrap.servers"));
    for (String name : List.of("subscribe", "subscribePattern", "assign")) {
      String key = OptionMaps.find(sourceOptions, name);
      if (key != null) source.put("location", sourceOptions.get(key));
    }
  }

  /** Returns the parts of the table's name that a stream reads, or null for another source. */
  public static List<String> ofStream(StreamingRelationV2 stream) {
    var name = stream.extraOptions().asCaseSensitiveMap().get(TABLE);
    return name == null ? null : List.of(name.split("\\."));
  }

  SparkSession session() {
    return session;
  }

  public CatalogTable catalogTable() {
    return table;
  }

  Map<String, String> options() {
    return options;
  }

  /** Returns the value of an option, or null if it is not given. */
  public String option(String name) {
    return OptionMaps.get(options, name);
  }

  /** Returns the topic that rows are written to, or null for a table that only reads topics. */
  public String topic() {
    return option("topic");
  }

  /** Returns the qualified name: catalog, schema and table. */
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

  /** Returns whether messages that do not fit the columns go to a dead-letter table. */
  boolean hasDeadLetters() {
    return OnError.isTable(option(OnError.OPTION));
  }

  /** Returns whether the columns are Kafka's own. */
  public boolean isRaw() {
    return option("value.format") == null;
  }

  /** Returns whether the value of a message is a single column, as bytes or text. */
  boolean hasRawValue() {
    return "raw".equalsIgnoreCase(option("value.format"));
  }

  /** Returns whether the values of a message are found by their order, and not by names. */
  public boolean isByOrder() {
    return "csv".equalsIgnoreCase(option("value.format"));
  }

  /** Returns the watermark of streams, or null if the table has none. */
  Watermark watermark() {
    return option("watermark") == null ? null : Watermark.parse(option("watermark"));
  }

  /** Returns the names of the table's columns. */
  public List<String> columnNames() {
    return List.of(table.schema().fieldNames());
  }

  /**
   * Returns the columns of a read. All are nullable, and the column of a stream's watermark carries
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

  /**
   * Returns the metadata columns: Kafka's fields, and those of a change. A table whose columns are
   * Kafka's fields has none.
   */
  StructType metadataColumns() {
    if (isRaw()) return new StructType();
    StructType columns =
        new StructType()
            .add("_topic", DataTypes.StringType)
            .add("_partition", DataTypes.IntegerType)
            .add("_offset", DataTypes.LongType)
            .add("_timestamp", DataTypes.TimestampType)
            .add("_key", DataTypes.BinaryType);
    if (!hasChanges()) return columns;
    for (StructField column : DebeziumChange.METADATA.fields()) columns = columns.add(column);
    return columns;
  }

  /** Returns whether each message is a change of a row, in one of Debezium's formats. */
  boolean hasChanges() {
    return DebeziumChange.isFormat(option("value.format"));
  }

  /** Returns the columns of the table's subject in its schema registry, all nullable. */
  StructType registeredColumns() {
    loadModules();
    StructType registered =
        ProtobufFormat.isChosen(options)
            ? ProtobufSubject.ofValues(options).columns()
            : AvroSubject.ofValues(options).columns(hasChanges());
    StructType columns = new StructType();
    for (StructField column : registered.fields())
      columns = columns.add(column.name(), column.dataType());
    return columns;
  }

  /**
   * Checks that rows can be encoded. With a schema registry, this registers the schemas of value
   * and key.
   */
  public void checkEncoding() {
    if (isRaw()) return;
    boolean hasRegistry =
        Arrays.stream(SchemaType.values())
            .anyMatch(type -> RegistryOptions.hasRegistry(options, type));
    if (!hasRegistry && !ProtobufFormat.isChosen(options)) return;
    Column[] nulls = new Column[columnNames().size()];
    Arrays.fill(nulls, lit(null));
    if (hasChanges()) valueFormat().encodeChange(nulls, lit(false), "c", "UTC");
    else if (!hasRawValue()) valueFormat().encode(nulls, "UTC");
    List<String> keys = keyColumns();
    if (!keys.isEmpty()) keyFormat().encode(Arrays.copyOf(nulls, keys.size()), "UTC");
  }

  /** Returns the format of the messages' values. */
  KafkaFormat valueFormat() {
    List<String> keys = hasRawValue() ? keyColumns() : List.of();
    String zone = session == null ? "UTC" : session.sessionState().conf().sessionLocalTimeZone();
    return new KafkaFormat(option("value.format"), columnsExcept(keys), options, zone);
  }

  /**
   * Returns the format of the keys: by default raw for one column that is a text, otherwise JSON.
   */
  KafkaFormat keyFormat() {
    StructType columns = new StructType();
    for (String name : keyColumns()) columns = columns.add(nullableColumns().apply(name));
    boolean oneText = columns.length() == 1 && KafkaFormat.isText(columns.apply(0).dataType());
    String name = option("key.format");
    return KafkaFormat.ofKeys(name != null ? name : oneText ? "raw" : "json", columns, options);
  }

  /** Returns the columns of the option `key.columns`, as the table spells them. */
  public List<String> keyColumns() {
    List<String> columns = new ArrayList<>();
    for (String keyColumn : columnList(option("key.columns"))) {
      for (String name : table.schema().fieldNames())
        if (name.equalsIgnoreCase(keyColumn)) columns.add(name);
    }
    return columns;
  }

  /** Returns the names in a comma-separated list, without their quotes; an empty list for null. */
  static List<String> columnList(String text) {
    return text == null
        ? List.of()
        : Arrays.stream(text.split(",")).map(KafkaTable::withoutQuotes).toList();
  }

  private static String withoutQuotes(String name) {
    return name.trim().replaceAll("^[`\"]|[`\"]$", "");
  }

  /** Returns the table's columns except these, all nullable. */
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
      var plain = new StructField(column.name(), column.dataType(), true, Metadata.empty());
      columns = columns.add(CsvRecords.isAdded(column) ? CsvRecords.added(plain) : plain);
    }
    return columns;
  }

  /** Returns columns with STRING in place of CHAR and VARCHAR, as in queries. */
  private static StructType withoutCharTypes(StructType columns) {
    return CharVarcharUtils.replaceCharVarcharWithStringInSchema(columns);
  }

  /** Returns the options of a writer as JSON, see `ConnectorOptions`. */
  public String writeOptions(boolean inBatches) throws Exception {
    return Json.MAPPER.writeValueAsString(ConnectorOptions.ofWriter(this, inBatches));
  }

  /**
   * Returns the messages of a range of offsets that do not fit the columns, see `MessageDecoder`.
   *
   * @param columns the columns that the job knows, a JSON array; null for all
   */
  public static Dataset<Row> deadLetters(
      SparkSession session,
      String schema,
      String name,
      String columns,
      String partitions,
      String start,
      String end) {
    var table = session.sharedState().externalCatalog().getTable(schema, name);
    var kafka = new KafkaTable(session, table, Map.of());
    var known =
        kafka.isByOrder()
            ? kafka
            : new KafkaTable(session, JobColumns.with(table, columns), Map.of());
    return new MessageDecoder(known).deadLetters(partitions, start, end);
  }

  /** Returns those of the messages, rows with Kafka's fields, that do not fit the columns. */
  public Dataset<Row> deadLetters(Dataset<Row> messages) {
    return new MessageDecoder(this).deadLetters(messages);
  }

  /** Returns rows as messages, see `MessageEncoder`. */
  public Dataset<Row> messages(Dataset<Row> rows, boolean deletes) {
    return new MessageEncoder(this).messages(rows, deletes);
  }

  /** Returns rows as messages with all fields, see `MessageEncoder`. */
  public Dataset<Row> fullMessages(Dataset<Row> rows, boolean deletes) {
    return new MessageEncoder(this).fullMessages(rows, deletes);
  }

  /**
   * Returns rows as messages with all fields, and with the number of each row before them. It is
   * the last column of the rows.
   */
  public Dataset<Row> numberedMessages(Dataset<Row> rows, boolean deletes, String number) {
    return new MessageEncoder(this).fullMessages(rows, deletes, List.of(number));
  }

  /** Writes rows to the topic with the connector's own writer. */
  void insert(Dataset<Row> rows) {
    KafkaTopicChecks.check(this, "write");
    try (var guard = new InsertGuard(this)) {
      try {
        messages(rows, false)
            .write()
            .format("kafka")
            .options(ConnectorOptions.ofWriter(this, true))
            .save();
      } catch (Exception e) {
        throw guard.explain(e);
      }
    }
  }

  /** Returns the plan of the relation that an INSERT writes to. */
  public LogicalPlan insertTarget() {
    return LogicalRelation$.MODULE$.apply(new KafkaInsertRelation(this), table);
  }

  /** Throws the error of INSERT OVERWRITE. */
  public static RuntimeException overwriteRefused(Origin origin) {
    return Exceptions.raise(
        JetSqlException.at(
            origin,
            "UNSUPPORTED_SINK",
            "0A000",
            "INSERT OVERWRITE is not possible:"
                + " the messages of a Kafka topic cannot be replaced. Use INSERT INTO."));
  }
}
