package dev.jetsql;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A table USING kafka as the catalogue has it: its topic, and what its options mean for those who read and write it.
 *
 * Spark can only read a topic as a batch, by Kafka's own columns and the name of no table; so reads become `KafkaRead`,
 * and an INSERT is given a relation that Spark can insert into.
 */
class KafkaTable {
  /** Kafka's own columns, in the connector's order. */
  static final StructType MESSAGE = new StructType().add("key", DataTypes.BinaryType).add("value", DataTypes.BinaryType)
      .add("topic", DataTypes.StringType).add("partition", DataTypes.IntegerType).add("offset", DataTypes.LongType)
      .add("timestamp", DataTypes.TimestampType).add("timestampType", DataTypes.IntegerType);
  static final StructType MESSAGE_WITH_HEADERS = MESSAGE.add("headers", DataTypes.createArrayType(
      new StructType().add("key", DataTypes.StringType).add("value", DataTypes.BinaryType)));

  // What a client reads with unless the table says otherwise: whole transactions only, and streams of small records fast.
  private static final String[][] READING = {
      {"kafka.isolation.level", "read_committed"},
      {"kafka.max.poll.records", "10000"},
      {"kafka.max.partition.fetch.bytes", "8388608"},
      {"kafka.receive.buffer.bytes", "1048576"},
      {"startingOffsets", "earliest"},
  };
  private static final String[] ONLY_STREAMS = {"maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"};
  private static final String[] ONLY_BATCHES = {"endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp"};

  static final String TABLE = "jetsql.table";
  static final String CREATED = "jetsql.created";

  final SparkSession session;
  final CatalogTable table;
  private final Map options;

  /** given: options of the query (WITH), stronger than the table's. */
  KafkaTable(SparkSession session, CatalogTable table, Map given) {
    this.session = session;
    this.table = table;
    this.options = new HashMap(CollectionConverters.asJava(table.storage().properties()));
    Iterator each = given.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      remove(options, (String) entry.getKey());
      options.put(entry.getKey(), entry.getValue());
    }
  }

  static boolean is(CatalogTable table) {
    return table.provider().isDefined() && "kafka".equalsIgnoreCase((String) table.provider().get());
  }

  /** The columns of a table that names none. */
  static StructType message(CatalogTable table) {
    return "true".equalsIgnoreCase(new KafkaTable(null, table, new HashMap()).option("includeHeaders"))
        ? MESSAGE_WITH_HEADERS : MESSAGE;
  }

  Seq nameParts() {
    List parts = new ArrayList();
    parts.add("spark_catalog");
    parts.add(table.identifier().database().get());
    parts.add(table.identifier().table());
    return CollectionConverters.asScala(parts).toSeq();
  }

  /** What a source that was made by `decoded` is of. */
  static void describe(Map given, ObjectNode source) {
    if (!given.containsKey(TABLE)) return;
    source.put("table", (String) given.get(TABLE));
    source.put("created", Long.parseLong((String) given.get(CREATED)));
    source.put("location", (String) given.get("subscribe"));
  }

  /** The value of an option; null when it isn't given. */
  String option(String name) {
    Object found = find(options, name);
    return found == null ? null : (String) options.get(found);
  }

  private static Object find(Map options, String name) {
    Iterator keys = options.keySet().iterator();
    while (keys.hasNext()) {
      String key = (String) keys.next();
      if (key.equalsIgnoreCase(name)) return key;
    }
    return null;
  }

  private static void remove(Map options, String name) {
    Object found = find(options, name);
    if (found != null) options.remove(found);
  }

  String topic() { return option("topic"); }

  String name() {
    return "spark_catalog." + (String) table.identifier().database().get() + "." + table.identifier().table();
  }

  /** Options for the connector's reader, with the secrets that they name. */
  Map readOptions(boolean streaming) {
    Map given = connectorOptions();
    String starting = option("startingOffsets");
    if (!streaming && "latest".equalsIgnoreCase(starting)) remove(given, "startingOffsets");
    String[] others = streaming ? ONLY_BATCHES : ONLY_STREAMS;
    for (int i = 0; i < others.length; i++) remove(given, others[i]);
    for (int i = 0; i < READING.length; i++) {
      if (find(given, READING[i][0]) == null) given.put(READING[i][0], READING[i][1]);
    }
    if (topic() != null) given.put("subscribe", topic());
    return given;
  }

  /** Options for the connector's writer. */
  Map writeOptions() {
    Map given = connectorOptions();
    given.put("topic", topic());
    return given;
  }

  private Map connectorOptions() {
    Map given = new HashMap();
    Iterator each = options.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (!isOurs((String) entry.getKey())) given.put(entry.getKey(), Secrets.reveal((String) entry.getValue()));
    }
    return given;
  }

  /** Whether an option is none of the connector's. */
  private static boolean isOurs(String name) {
    String key = name.toLowerCase(Locale.ROOT);
    return key.equals("topic") || key.equals("path") || key.equals("serialization.format") || key.equals("watermark")
        || key.equals("on.error") || key.startsWith("key.") || key.startsWith("value.") || key.startsWith("json.")
        || key.startsWith("csv.") || key.startsWith("avro.");
  }

  /** Whether its columns are Kafka's own. */
  boolean isRaw() { return option("value.format") == null; }

  StructType columns(boolean streaming) { return table.schema(); }

  /** Kafka's own fields beside the columns of a table that has others. */
  StructType hidden() {
    return isRaw() ? new StructType() : new StructType().add("_topic", DataTypes.StringType)
        .add("_partition", DataTypes.IntegerType).add("_offset", DataTypes.LongType)
        .add("_timestamp", DataTypes.TimestampType).add("_key", DataTypes.BinaryType);
  }

  /** The messages as rows, with all columns, those that are hidden too. */
  Dataset decoded(boolean streaming) {
    Map given = readOptions(streaming);
    // Who reads a plan finds the table by these; the connector has no use for them.
    given.put(TABLE, name());
    given.put(CREATED, Long.toString(table.createTime()));
    return streaming ? session.readStream().format("kafka").options(given).load()
        : session.read().format("kafka").options(given).load();
  }

  /** Send rows, by Spark's own writer. */
  void insert(Dataset rows) { encoded(rows).write().format("kafka").options(writeOptions()).save(); }

  /** What an INSERT writes to. */
  LogicalPlan target() { return LogicalRelation$.MODULE$.apply(new Target(this), table); }

  /** Rows of the table as messages: the columns that the connector's writer takes. */
  Dataset encoded(Dataset rows) {
    List kept = new ArrayList();
    String[] names = table.schema().fieldNames();
    for (int i = 0; i < names.length; i++) {
      String name = names[i].toLowerCase(Locale.ROOT);
      boolean given = name.equals("key") || name.equals("value") || name.equals("headers") || name.equals("partition");
      if (given) kept.add(org.apache.spark.sql.functions.col(names[i]));
    }
    return rows.toDF(names).select(CollectionConverters.asScala(kept).toSeq());
  }

  static class Target extends BaseRelation implements InsertableRelation {
    private final KafkaTable kafka;

    Target(KafkaTable kafka) { this.kafka = kafka; }

    public SQLContext sqlContext() { return kafka.session.sqlContext(); }
    public StructType schema() { return kafka.table.schema(); }

    public void insert(Dataset rows, boolean overwrite) {
      if (overwrite) {
        throw Extension.Answers.raise(Extension.Failure.of("UNSUPPORTED_SINK", "0A000", "INSERT OVERWRITE is not possible:"
            + " what is in a Kafka topic can't be replaced. Use INSERT INTO."));
      }
      kafka.insert(rows);
    }
  }
}
