package dev.jetsql.testing;

import dev.jetsql.bodies.JobBody;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.plans.CurrentTimes;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The tables of one unit test, in memory. The catalog has their definitions, and the plans of
 * Spark's analyzer stay as they are but for the leaves that read tables.
 */
public final class MemoryTables {
  private final SparkSession root;
  private final Map<String, MemoryTable> tables = new ConcurrentHashMap<>();
  private final MemoryTopics topics = new MemoryTopics();

  private MemoryTables(SparkSession root) {
    this.root = root;
  }

  /** Returns the tables of a test. root: its session */
  public static MemoryTables of(SparkSession root) {
    return new MemoryTables(root);
  }

  /** Returns a table of the catalog. name: its qualified name */
  public MemoryTable table(String name) {
    return table(definition(name));
  }

  private CatalogTable definition(String name) {
    var parts = name.split("\\.", 3);
    return root.sharedState().externalCatalog().getTable(parts[1], parts[2]);
  }

  private MemoryTable table(CatalogTable table) {
    var name = name(table.identifier());
    return tables.computeIfAbsent(name, key -> new MemoryTable(key, columns(table)));
  }

  private static StructType columns(CatalogTable table) {
    return CharVarcharUtils.replaceCharVarcharWithStringInSchema(table.schema());
  }

  private static String name(TableIdentifier table) {
    var schema = table.database().isDefined() ? table.database().get() : "default";
    return ("spark_catalog." + schema + "." + table.table()).toLowerCase(Locale.ROOT);
  }

  /** Returns the sink for a table. Parameters: see `TestSink` */
  public TestSink sink(String name, String write, String columns, boolean deletes) {
    return new TestSink.OfTable(table(name), write, columns, deletes);
  }

  /** Returns the sink for a Kafka table. Parameters: see `TestTopicSink` */
  public TestSink topicSink(String name, boolean keyed, boolean retracts) {
    return new TestTopicSink(topics, kafka(definition(name), Map.of()), keyed, retracts);
  }

  private KafkaTable kafka(CatalogTable definition, Map<String, String> options) {
    var kafka = new KafkaTable(root, definition, options);
    kafka.loadModules();
    return kafka;
  }

  /**
   * Runs an INSERT of the test, and returns the name of its table.
   *
   * @param millis the time of the test's clock
   */
  public String insert(SparkSession session, String text, long millis) {
    var body = JobBody.analyze(session, text, "append", 0, null, null, null, "[]");
    var facts = Json.read(body.facts());
    var sink = facts.path("sink").path("table").asText();
    if (body.written() == null || sink.isEmpty()) return "";
    var insert = TestDefinitions.insert(TestDefinitions.parsed(session, text));
    var partitions = fixedPartitions(insert);
    var write = !insert.overwrite() ? "append" : partitions.isEmpty() ? "replace" : "partitions";
    target(sink, write, partitions).write(dataset(session, body.written(), millis), millis);
    return sink;
  }

  /** Returns the partition columns with a value, whose partition an INSERT OVERWRITE replaces. */
  private static List<String> fixedPartitions(InsertIntoStatement insert) {
    var fixed = new ArrayList<String>();
    for (var each : CollectionConverters.asJava(insert.partitionSpec()).entrySet())
      if (each.getValue().isDefined()) fixed.add(each.getKey());
    return fixed;
  }

  /** Returns the sink of an INSERT. Parameters: see `TestSink` */
  TestSink target(String name, String write, List<String> columns) {
    return KafkaTable.isKafka(definition(name))
        ? topicSink(name, false, false)
        : new TestSink.OfTable(table(name), write, Json.write(columns), false);
  }

  /** Returns whether the catalog has a table. name: its qualified name */
  boolean exists(String name) {
    var parts = name.split("\\.", 3);
    return root.sharedState().externalCatalog().tableExists(parts[1], parts[2]);
  }

  /** Forgets the rows of tables that were dropped. */
  void forgetDropped() {
    tables.keySet().removeIf(name -> !exists(name));
  }

  /** Returns the rows of a query over the tables. Throws Spark's errors. */
  public Dataset<Row> query(SparkSession session, String text, long millis) {
    return dataset(session, session.sql(text).queryExecution().analyzed(), millis);
  }

  /** Returns the rows of a resolved query over the tables. */
  public Dataset<Row> dataset(SparkSession session, LogicalPlan plan, long millis) {
    return Dataset.ofRows(session, inMemory(plan, millis, null));
  }

  /**
   * Returns a resolved query over the tables in memory.
   *
   * @param millis the current time of batch queries
   * @param sources receives the streams; null if the query may not read streams
   */
  LogicalPlan inMemory(LogicalPlan plan, long millis, List<MemorySource> sources) {
    var read =
        plan.transformUpWithSubqueries(
            PartialFunctions.<LogicalPlan, LogicalPlan>of(
                node -> isTable(node, sources != null), node -> inMemory(node, sources)));
    return plan.isStreaming() ? read : CurrentTimes.at(millis, read);
  }

  private LogicalPlan inMemory(LogicalPlan leaf, List<MemorySource> sources) {
    var definition = definition(leaf, true);
    var kafka = KafkaTable.isKafka(definition) ? kafka(definition, options(leaf)) : null;
    var rows =
        kafka != null ? topics.messages(kafka) : new MemoryRows(table(definition), row -> true);
    var read = new MemoryRead(rows, leaf.output());
    if (sources == null) return read.relation(); // Spark computes short queries as it plans them
    if (!leaf.isStreaming()) return read;
    var source = new MemorySource(rows, kafka, leaf.output(), leaf.schema());
    sources.add(source);
    // Any stream of Spark: the constructors of its class differ between the versions.
    var stream =
        (StreamingRelationV2)
            root.readStream()
                .format("rate-micro-batch")
                .option("rowsPerBatch", 1)
                .load()
                .queryExecution()
                .analyzed();
    return CaseClasses.copy(
        stream,
        Map.of(
            "source",
            Option.empty(),
            "sourceName",
            source.name(),
            "table",
            source,
            "extraOptions",
            CaseInsensitiveStringMap.empty(),
            "output",
            leaf.output(),
            "v1Relation",
            Option.empty()));
  }

  /** Returns the qualified names of the tables that a query reads as they are, a JSON array. */
  public static String tablesRead(LogicalPlan query) {
    var names = Json.MAPPER.createArrayNode();
    for (var node :
        CollectionConverters.asJava(query.collectWithSubqueries(PartialFunctions.everything())))
      if (node instanceof LogicalRelation read && read.catalogTable().isDefined())
        names.add(name(read.catalogTable().get().identifier()));
    return Json.write(names);
  }

  private static Map<String, String> options(LogicalPlan leaf) {
    return leaf instanceof StreamingRelationV2 read
        ? read.extraOptions().asCaseSensitiveMap()
        : Map.of();
  }

  private boolean isTable(LogicalPlan leaf, boolean streams) {
    return definition(leaf, streams) != null;
  }

  /** Returns the table that a leaf reads, or null. */
  private CatalogTable definition(LogicalPlan leaf, boolean streams) {
    if (leaf instanceof LogicalRelation read && read.catalogTable().isDefined())
      return read.catalogTable().get();
    if (!streams) return null;
    if (leaf instanceof StreamingRelation read && read.dataSource().catalogTable().isDefined())
      return read.dataSource().catalogTable().get();
    if (leaf instanceof StreamingRelationV2 read) {
      var name = read.extraOptions().get(KafkaTable.TABLE);
      if (name != null) return definition(name);
    }
    if (leaf.isStreaming() && leaf.children().isEmpty())
      throw Exceptions.raise(
          JetSqlException.of(
              "UNSUPPORTED_QUERY",
              "0A000",
              "A test cannot give rows to the source "
                  + leaf.simpleStringWithNodeId()
                  + ": it is no table."));
    return null;
  }

  /** Returns rows that were computed. */
  static Dataset<Row> rows(SparkSession session, Seq<Attribute> columns, List<InternalRow> rows) {
    return Dataset.ofRows(
        session, new LocalRelation(columns, Sequences.of(rows), false, Option.empty()));
  }

  /** Returns rows that were computed. */
  static Dataset<Row> rows(SparkSession session, StructType columns, List<InternalRow> rows) {
    var attributes = new ArrayList<Attribute>();
    for (var each : CollectionConverters.asJava(DataTypeUtils.toAttributes(columns)))
      attributes.add(each);
    return rows(session, Sequences.of(attributes), rows);
  }

  /** Returns the rows of a query. */
  static List<InternalRow> collect(Dataset<Row> rows) {
    return List.of(rows.queryExecution().executedPlan().executeCollect());
  }
}
