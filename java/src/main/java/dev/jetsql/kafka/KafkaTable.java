package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.sql.Secrets;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.catalyst.util.IntervalUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A table USING kafka as the catalogue has it: its topic, and what its options mean for those who read and write it.
 *
 * Spark can only read a topic as a batch, by Kafka's own columns and the name of no table; so reads become `KafkaRead`,
 * and an INSERT is given a relation that Spark can insert into.
 */
public class KafkaTable {
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
  // Spark asks where a topic ends after each fetch, behind the client's next one, which waits for what comes (500 ms).
  private static final String WAIT = "kafka.fetch.max.wait.ms";
  private static final String[][] SHORT_WAIT = {{WAIT, "5"}, {"jetsql.short.wait", "true"}};
  private static final Pattern WATERMARK = Pattern.compile("`?(.+?)`?\\s+DELAY\\s+OF\\s+(.+)", Pattern.CASE_INSENSITIVE);
  static final String BROKEN_AT = "The message at offset ";
  // What a client writes with unless the table says otherwise: Kafka's own wait for no second message and compress
  // nothing, which is slow for streams of small records.
  private static final String[][] WRITING = {
      {"kafka.linger.ms", "20"},
      {"kafka.batch.size", "262144"},
      {"kafka.compression.type", "lz4"},
  };
  // In real-time mode a message goes as it comes: the wait for a second one would be most of the time that it takes.
  private static final String[][] WRITING_AT_ONCE = {{"kafka.linger.ms", "0"}};
  private static final String[] ONLY_STREAMS = {"maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"};
  private static final String[] ONLY_BATCHES = {"endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp"};

  static final String TABLE = "jetsql.table";
  static final String CREATED = "jetsql.created";
  static final String ON_ERROR = "jetsql.on.error";
  /** On what is a column of the table: what it is made of is the table's matter, and none of who reads it. */
  public static final String IS_COLUMN = "jetsql.column";
  private static final Metadata COLUMN = new MetadataBuilder().putBoolean(IS_COLUMN, true).build();

  /** The setting of a job that goes before the option of its tables: a statement can't be changed under a planned batch. */
  private static final String DATA_LOSS = "spark.jetsql.kafka.failOnDataLoss";

  final SparkSession session;
  final CatalogTable table;
  final Map options;

  /** given: options of the query (WITH), stronger than the table's. */
  public KafkaTable(SparkSession session, CatalogTable table, Map given) {
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

  public static KafkaTable of(SparkSession session, String schema, String name) throws Exception {
    KafkaTable found = new KafkaTable(session, session.sharedState().externalCatalog().getTable(schema, name), new HashMap());
    found.load();
    return found;
  }

  /** Bring what reading and writing it needs of Spark's modules. */
  public void load() {
    Connector.load(session.sparkContext());
    if ("avro".equalsIgnoreCase(option("value.format")) || "avro".equalsIgnoreCase(option("key.format"))) {
      Connector.loadAvro(session.sparkContext());
    }
  }

  public static boolean is(CatalogTable table) {
    return table.provider().isDefined() && "kafka".equalsIgnoreCase((String) table.provider().get());
  }

  /** The columns of a table that names none. */
  static StructType message(CatalogTable table) {
    return "true".equalsIgnoreCase(new KafkaTable(null, table, new HashMap()).option("includeHeaders"))
        ? MESSAGE_WITH_HEADERS : MESSAGE;
  }

  public Seq nameParts() {
    List parts = new ArrayList();
    parts.add("spark_catalog");
    parts.add(table.identifier().database().get());
    parts.add(table.identifier().table());
    return CollectionConverters.asScala(parts).toSeq();
  }

  /** What a source that was made by `decoded` is of. */
  public static void describe(Map given, ObjectNode source) {
    if (!given.containsKey(TABLE)) return;
    source.put("table", (String) given.get(TABLE));
    source.put("created", Long.parseLong((String) given.get(CREATED)));
    source.put("on_error", (String) given.get(ON_ERROR));
    source.put("servers", (String) given.get(find(given, "kafka.bootstrap.servers")));
    String[] places = {"subscribe", "subscribePattern", "assign"};
    for (int i = 0; i < places.length; i++) {
      Object key = find(given, places[i]);
      if (key != null) source.put("location", (String) given.get(key));
    }
  }

  /** The value of an option; null when it isn't given. */
  String option(String name) {
    Object found = find(options, name);
    return found == null ? null : (String) options.get(found);
  }

  /** As a map of options spells a name; null when it isn't there. */
  static Object find(Map options, String name) {
    Iterator keys = options.keySet().iterator();
    while (keys.hasNext()) {
      String key = (String) keys.next();
      if (key.equalsIgnoreCase(name)) return key;
    }
    return null;
  }

  static void remove(Map options, String name) {
    Object found = find(options, name);
    if (found != null) options.remove(found);
  }

  public String topic() { return option("topic"); }

  public String name() {
    return "spark_catalog." + (String) table.identifier().database().get() + "." + table.identifier().table();
  }

  /** Options for the connector's reader, with the secrets that they name. */
  Map readOptions(boolean streaming) {
    Map given = connectorOptions();
    String starting = option("startingOffsets");
    if (!streaming && "latest".equalsIgnoreCase(starting)) remove(given, "startingOffsets");
    String[] others = streaming ? ONLY_BATCHES : ONLY_STREAMS;
    for (int i = 0; i < others.length; i++) remove(given, others[i]);
    scala.Option loss = session.conf().getOption(DATA_LOSS);
    if (streaming && loss.isDefined()) {
      remove(given, "failOnDataLoss");
      given.put("failOnDataLoss", loss.get());
    }
    complete(given, READING);
    if (find(given, WAIT) == null) complete(given, SHORT_WAIT);
    if (topic() != null) given.put("subscribe", topic());
    return given;
  }

  /** Options for the connector's writer. inBatches: messages may wait for others. The broker is asked what it takes. */
  Map writeOptions(boolean inBatches) {
    Map given = connectorOptions();
    complete(given, inBatches ? WRITING : WRITING_AT_ONCE);
    if (topic() != null) {
      given.put("topic", topic());
      KafkaBatches.fit(given, topic());
    }
    return given;
  }

  /** The same as JSON. */
  public String writing(boolean inBatches) throws Exception {
    return Json.MAPPER.writeValueAsString(writeOptions(inBatches));
  }

  private static void complete(Map given, String[][] defaults) {
    for (int i = 0; i < defaults.length; i++) {
      if (find(given, defaults[i][0]) == null) given.put(defaults[i][0], defaults[i][1]);
    }
  }

  private Map connectorOptions() {
    Map given = new HashMap();
    Iterator each = options.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (isOurs((String) entry.getKey())) continue;
      given.put(entry.getKey(), revealed((String) entry.getKey(), (String) entry.getValue()));
    }
    return given;
  }

  /** The value of an option of Kafka's clients, read if it names a secret; of other options none does. */
  private static String revealed(String name, String value) {
    if (value == null || !Secrets.isReference(value) || !name.toLowerCase(Locale.ROOT).startsWith("kafka.")) return value;
    String secret = Secrets.reveal(value);
    String type = KafkaTypes.refusing(name.substring(6), secret);
    if (type == null) return secret;
    throw Exceptions.raise(JetSqlException.of("INVALID_OPTION_VALUE", "22023", "'" + name + "' can't be what '" + value
        + "' holds: Kafka's clients take no such value there (type " + type + ")."));
  }

  /** Whether an option is none of the connector's. */
  private static boolean isOurs(String name) {
    String key = name.toLowerCase(Locale.ROOT);
    return key.equals("topic") || key.equals("path") || key.equals("serialization.format") || key.equals("watermark")
        || key.equals("on.error") || key.startsWith("key.") || key.startsWith("value.") || key.startsWith("json.")
        || key.startsWith("csv.") || key.startsWith("avro.") || key.startsWith("delivery.");
  }

  /** Whether messages that don't fit the columns go into a table. */
  boolean hasLetters() {
    String way = option("on.error");
    return way != null && way.toLowerCase(Locale.ROOT).startsWith("table:");
  }

  /** Whether its columns are Kafka's own. */
  public boolean isRaw() { return option("value.format") == null; }

  /** What a read of it gives. Whatever the table says, a field may be missing; a stream's watermark stands in its column. */
  StructType columns(boolean streaming) {
    StructType found = new StructType();
    StructType told = read(table.schema());
    for (int i = 0; i < told.length(); i++) {
      StructField column = told.apply(i);
      Metadata metadata = column.metadata();
      if (streaming && watermark() != null && column.name().equalsIgnoreCase(watermark()[0])) {
        long delay = EventTimeWatermark$.MODULE$.getDelayMs(IntervalUtils$.MODULE$.fromIntervalString(watermark()[1]));
        String mark = EventTimeWatermark$.MODULE$.delayKey();
        metadata = new MetadataBuilder().withMetadata(metadata).putLong(mark, delay).build();
      }
      found = found.add(new StructField(column.name(), column.dataType(), true, metadata));
    }
    return found;
  }

  /** Columns as they are read: a query knows no CHAR and VARCHAR, which are texts of a certain length. */
  private static StructType read(StructType columns) {
    return CharVarcharUtils.replaceCharVarcharWithStringInSchema(columns);
  }

  /** Column and delay of the option `watermark`; null without. */
  String[] watermark() { return option("watermark") == null ? null : watermark(option("watermark")); }

  /** Column and delay that a text says; null for another text. */
  static String[] watermark(String text) {
    Matcher found = WATERMARK.matcher(text.trim());
    return found.matches() ? new String[] {found.group(1).replace("``", "`"), found.group(2)} : null;
  }

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
    if (option("on.error") != null) given.put(ON_ERROR, option("on.error"));
    Dataset messages = streaming ? session.readStream().format("kafka").options(given).load()
        : session.read().format("kafka").options(given).load();
    if (isRaw()) return messages;
    Dataset rows = columnsOf(judged(parsed(messages)));
    return streaming && watermark() != null ? rows.withWatermark(watermark()[0], watermark()[1]) : rows;
  }

  /** The messages of a range of offsets that don't fit the columns, and why. The three are JSON, as the connector takes them. */
  public Dataset deadLetters(String partitions, String start, String end) {
    Map given = readOptions(false);
    String[] ranges = {"subscribe", "subscribePattern", "assign", "startingOffsets", "startingTimestamp",
        "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy", "endingOffsets", "endingTimestamp",
        "endingOffsetsByTimestamp"};
    for (int i = 0; i < ranges.length; i++) remove(given, ranges[i]);
    given.put("assign", partitions);
    given.put("startingOffsets", start);
    given.put("endingOffsets", end);
    Column value = functions.col("__value");
    return parsed(session.read().format("kafka").options(given).load())
        .filter(valueFormat().broken(value, functions.col("__row")))
        .select(new Column[] {functions.col("_topic").as("topic"), functions.col("_partition").as("partition"),
            functions.col("_offset").as("offset"), functions.col("_timestamp").as("timestamp"),
            functions.col("_key").as("key"), value.as("value"), valueFormat().reason(value).as("reason")});
  }

  private KafkaFormat valueFormat() {
    String name = option("value.format");
    return new KafkaFormat(name, "raw".equalsIgnoreCase(name) ? columnsBut(keyColumns()) : nullable(table.schema()), options);
  }

  /** One column as text, more of them and what is no text as JSON, unless the table says otherwise. */
  private KafkaFormat keyFormat() {
    String name = option("key.format");
    StructType columns = keySchema();
    boolean one = columns.length() == 1 && KafkaFormat.isText(columns.apply(0).dataType());
    return new KafkaFormat(name != null ? name : one ? "raw" : "json", columns, options).ofKeys();
  }

  /** The columns of the option `key.columns`, as the table spells them. */
  List keyColumns() {
    List found = new ArrayList();
    String[] asked = option("key.columns") == null ? new String[0] : option("key.columns").split(",");
    String[] names = table.schema().fieldNames();
    for (int i = 0; i < asked.length; i++) {
      String wanted = asked[i].trim().replaceAll("^[`\"]|[`\"]$", "");
      for (int k = 0; k < names.length; k++) if (names[k].equalsIgnoreCase(wanted)) found.add(names[k]);
    }
    return found;
  }

  private StructType keySchema() {
    StructType found = new StructType();
    for (int i = 0; i < keyColumns().size(); i++) {
      found = found.add(nullable(table.schema()).apply((String) keyColumns().get(i)));
    }
    return found;
  }

  private StructType columnsBut(List names) {
    StructType found = new StructType();
    StructType all = nullable(table.schema());
    for (int i = 0; i < all.length(); i++) if (!names.contains(all.apply(i).name())) found = found.add(all.apply(i));
    return found;
  }

  private static StructType nullable(StructType given) {
    StructType columns = read(given);
    StructType found = new StructType();
    for (int i = 0; i < columns.length(); i++) found = found.add(columns.apply(i).name(), columns.apply(i).dataType());
    return found;
  }

  private Dataset parsed(Dataset messages) {
    Column value = functions.col("value");
    Column key = functions.col("key");
    Column keys = keyColumns().isEmpty() ? functions.lit(null) : keyFormat().parsed(key);
    // Out of an array of one: an expression that is given a name is put in place of it wherever a filter names it, and the
    // bytes would be parsed for each time; a row that was made of another one is not.
    Column row = functions.explode(functions.array(new Column[] {valueFormat().parsed(value)}));
    return messages.select(new Column[] {value.as("__value"), row.as("__row"), keys.as("__keys"),
        key.as("_key"), functions.col("topic").as("_topic"), functions.col("partition").as("_partition"),
        functions.col("offset").as("_offset"), functions.col("timestamp").as("_timestamp")});
  }

  /** What becomes of messages that don't fit the columns. */
  private Dataset judged(Dataset parsed) {
    Column row = functions.col("__row");
    Column broken = valueFormat().broken(functions.col("__value"), row);
    String way = option("on.error") == null ? "fail" : option("on.error");
    if (way.equalsIgnoreCase("skip") || hasLetters()) {
      return parsed.filter(functions.not(broken));
    }
    if (way.equalsIgnoreCase("null")) return parsed.withColumn("__row", functions.when(functions.not(broken), row));
    Column words = functions.concat(new Column[] {functions.lit(BROKEN_AT), functions.col("_offset"), functions.lit(" of topic "),
        functions.col("_topic"), functions.lit(", partition "), functions.col("_partition"),
        functions.lit(", does not fit the columns of " + name() + ": "), valueFormat().reason(functions.col("__value")),
        functions.lit(". The table option 'on.error' says what becomes of such messages: 'null', 'skip' or 'table:NAME'.")});
    return parsed.withColumn("__row", functions.when(broken, functions.raise_error(words)).otherwise(row));
  }

  private Dataset columnsOf(Dataset judged) {
    List found = new ArrayList();
    boolean inValue = !"raw".equalsIgnoreCase(option("value.format"));
    String[] names = table.schema().fieldNames();
    for (int i = 0; i < names.length; i++) {
      Column value = functions.col("__row").getField(names[i]);
      Column key = functions.col("__keys").getField(names[i]);
      Column column = !keyColumns().contains(names[i]) ? value
          : inValue ? functions.coalesce(new Column[] {value, key}) : key;
      found.add(column.as(names[i], COLUMN));
    }
    String[] fields = hidden().fieldNames();
    for (int i = 0; i < fields.length; i++) found.add(functions.col(fields[i]));
    return judged.select((Column[]) found.toArray(new Column[0]));
  }

  /** Send rows, by Spark's own writer. */
  void insert(Dataset rows) {
    KafkaAsked.ask(this, "write");
    encoded(rows, false).write().format("kafka").options(writeOptions(true)).save();
  }

  public static RuntimeException notReplaced(Origin place) {
    return Exceptions.raise(JetSqlException.at(place, "UNSUPPORTED_SINK", "0A000", "INSERT OVERWRITE is not possible:"
        + " what is in a Kafka topic can't be replaced. Use INSERT INTO."));
  }

  /** What an INSERT writes to. */
  public LogicalPlan target() { return LogicalRelation$.MODULE$.apply(new Target(this), table); }

  /**
   * Rows of the table as messages: the columns that the connector's writer takes. deletes: a row that has nothing but its
   * key is a message without a value, which deletes what a compacted topic has of the key.
   */
  public Dataset encoded(Dataset rows, boolean deletes) {
    Dataset named = rows.toDF(table.schema().fieldNames());
    if (isRaw()) return named.select(messageColumns());
    List messages = new ArrayList();
    if (!keyColumns().isEmpty()) messages.add(keyFormat().written(columns(keyColumns())).as("key"));
    List kept = "raw".equalsIgnoreCase(option("value.format"))
        ? java.util.Arrays.asList((Object[]) columnsBut(keyColumns()).fieldNames())
        : java.util.Arrays.asList((Object[]) table.schema().fieldNames());
    Column value = valueFormat().written(columns(kept));
    messages.add((deletes ? functions.when(functions.not(empty()), value) : value).as("value"));
    return named.select((Column[]) messages.toArray(new Column[0]));
  }

  /** The same with all columns of a message that can be given, in the order that `PartWriter` reads them in. */
  public Dataset whole(Dataset rows, boolean deletes) {
    Dataset messages = encoded(rows, deletes);
    String[] names = {"key", "value", "headers", "topic", "partition"};
    Column[] columns = new Column[names.length];
    for (int i = 0; i < names.length; i++) {
      boolean there = false;
      for (int k = 0; k < messages.columns().length; k++) there |= messages.columns()[k].equalsIgnoreCase(names[i]);
      Column given = there ? functions.col(names[i]) : functions.lit(null);
      columns[i] = given.cast(MESSAGE_WITH_HEADERS.apply(names[i]).dataType()).as(names[i]);
    }
    return messages.select(columns);
  }

  private Column empty() {
    Column[] others = columns(java.util.Arrays.asList((Object[]) columnsBut(keyColumns()).fieldNames()));
    Column empty = functions.lit(Boolean.valueOf(others.length > 0));
    for (int i = 0; i < others.length; i++) empty = empty.and(others[i].isNull());
    return empty;
  }

  private static Column[] columns(List names) {
    Column[] found = new Column[names.size()];
    for (int i = 0; i < found.length; i++) found[i] = functions.col("`" + ((String) names.get(i)).replace("`", "``") + "`");
    return found;
  }

  /** Offset and times are Kafka's to give. */
  private Column[] messageColumns() {
    List kept = new ArrayList();
    String[] names = table.schema().fieldNames();
    for (int i = 0; i < names.length; i++) {
      String name = names[i].toLowerCase(Locale.ROOT);
      boolean given = name.equals("key") || name.equals("value") || name.equals("headers") || name.equals("partition")
          || name.equals("topic");
      if (given) kept.add(names[i]);
    }
    return columns(kept);
  }

  static class Target extends BaseRelation implements InsertableRelation {
    private final KafkaTable kafka;

    Target(KafkaTable kafka) { this.kafka = kafka; }

    public SQLContext sqlContext() { return kafka.session.sqlContext(); }
    public StructType schema() { return kafka.table.schema(); }

    public void insert(Dataset rows, boolean overwrite) {
      if (overwrite) throw notReplaced(CurrentOrigin.get());
      kafka.insert(rows);
    }
  }
}
