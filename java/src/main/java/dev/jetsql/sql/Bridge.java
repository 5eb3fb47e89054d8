package dev.jetsql.sql;

import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.files.Files;
import dev.jetsql.kafka.Connector;
import dev.jetsql.kafka.KafkaAsked;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.rows.ArrowSchemas;
import dev.jetsql.rows.RowStream;
import dev.jetsql.stream.Batches;
import dev.jetsql.stream.CancelledJobGroups;
import dev.jetsql.stream.ClusterExecutors;
import dev.jetsql.stream.LeakedJobCleanup;
import dev.jetsql.stream.Queries;
import dev.jetsql.stream.QueryListener;
import dev.jetsql.stream.RealTimeCheck;
import dev.jetsql.stream.RealTimeProgress;
import dev.jetsql.stream.StreamingCursor;
import dev.jetsql.stream.StreamingSelects;
import dev.jetsql.stream.ThriftStreamingSelects;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.DataFrameWriter;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;

/** Everything that Python asks of these classes, on one object: each question is one call across. */
public class Bridge {
  /** Teach `session`, and every session made from it later, our statements; one used before gets a new parser. */
  public void enable(SparkSession session) throws Exception {
    Secrets.install();
    LeakedJobCleanup.register(session.sparkContext());
    if (Extension.taught(session)) return;
    Extension.inject(session.extensions());
    Sessions.renewState(session);
  }

  public void connect(
      String filter, BiFunction describe, BiFunction execute, Consumer cancel, BiFunction rows, BiFunction topic) {
    Extension.connect(filter, describe, execute);
    PythonCalls.connect(cancel);
    LiveTables.connect(rows);
    KafkaAsked.connect(topic);
  }

  public void disconnect() {
    connect(null, null, null, null, null, null);
    ClusterExecutors.unwatch();
  }

  public String placeholders(SparkSession session, String names) throws Exception {
    return LiveTables.found(session, names);
  }

  public void showRelations(String columns) throws Exception { LiveTables.show(columns); }

  /** The options (JSON object) with the secrets that their values name, see `Secrets`. */
  public String reveal(String options) throws Exception {
    ObjectNode revealed = (ObjectNode) Json.MAPPER.readTree(options);
    List names = new ArrayList();
    Iterator each = revealed.fieldNames();
    while (each.hasNext()) names.add(each.next());
    for (int i = 0; i < names.size(); i++) {
      String name = (String) names.get(i);
      revealed.put(name, Secrets.reveal(((JsonNode) revealed.get(name)).asText()));
    }
    return Json.MAPPER.writeValueAsString(revealed);
  }

  /** What the names of secret options look like. */
  public void setSecretNames(String pattern) { Secrets.setNames(pattern); }

  public boolean isSecretName(String option) { return Secrets.isName(option); }

  /** A message without the secrets that were read. */
  public String hideSecrets(String message) { return Secrets.hide(message); }

  /** Spark's Kafka connector is there from now on, see `Connector`. */
  public void loadKafka(SparkSession session) { Connector.load(session.sparkContext()); }

  /** Messages that don't fit the columns of a Kafka table, see `KafkaTable`. */
  public Dataset deadLetters(SparkSession session, String schema, String name, String partitions, String start, String end) {
    KafkaTable table = new KafkaTable(session, session.sharedState().externalCatalog().getTable(schema, name), new HashMap());
    return (Dataset) table.deadLetters(partitions, start, end);
  }

  public String members(SparkSession session) throws Exception { return ClusterExecutors.list(session); }

  public void watchMembers(SparkSession session, Consumer<String> engine) throws Exception {
    ClusterExecutors.watch(session.sparkContext(), engine);
  }

  /**
   * Put a compiled class where the class `beside` is: whoever finds that one by its name finds this one too. Spark opens
   * java.lang to all when it starts Java. One that an engine before has put there stays.
   */
  public Class define(String beside, String name, byte[] code) throws Exception {
    ClassLoader loader = Class.forName(beside, false, getClass().getClassLoader()).getClassLoader();
    try {
      return Class.forName(name, false, loader);
    } catch (ClassNotFoundException e) {
      return defined(loader, name, code);
    }
  }

  private static Class defined(ClassLoader loader, String name, byte[] code) throws Exception {
    Class[] types = new Class[] {String.class, byte[].class, int.class, int.class};
    java.lang.reflect.Method define = ClassLoader.class.getDeclaredMethod("defineClass", types);
    define.setAccessible(true);
    return (Class) define.invoke(loader, new Object[] {name, code, Integer.valueOf(0), Integer.valueOf(code.length)});
  }

  public Plans analyse(SparkSession session, String text) throws Exception { return Plans.analyse(session, text); }

  public Dataset dataset(SparkSession session, LogicalPlan plan) { return Dataset.ofRows(session, plan); }

  /** End what Spark does in a group of jobs, now and later. */
  public void end(SparkSession session, String group) { CancelledJobGroups.cancel(session.sparkContext(), group); }

  public void ran(Dataset rows) { Relations.ran(rows); }

  /** Run a statement with parameter markers, see `Parameters`. */
  public Dataset sql(SparkSession session, String text, String parameters) throws Exception {
    return Parameters.run(session, text, parameters);
  }

  public byte[] arrowSchema(Dataset<?> rows, String columns) throws Exception { return ArrowSchemas.message(rows, columns); }

  /** The rows as batches of Arrow, and as pickled ones, see `RowStream`. */
  public Object[] arrowBatches(Dataset<?> rows) { return RowStream.serve(rows.toArrowBatchRdd()); }

  public Object[] pickledRows(Dataset<?> rows) { return RowStream.serve(rows.javaToPython().rdd()); }

  public String table(SparkSession session, String schema, String name) throws Exception {
    return Tables.facts(session, schema, name);
  }

  public void addPartitions(SparkSession session, String schema, String name, String fragments) throws Exception {
    Tables.addPartitions(session, schema, name, fragments);
  }

  public void moveTable(SparkSession session, String schema, String name, String location) throws Exception {
    Tables.move(session, schema, name, location);
  }

  /** The session catalogue's table that a name in a statement stands for, as JSON; null for everything else. */
  public String namedTable(SparkSession session, String name) throws Exception { return Tables.named(session, name); }

  public String transact(String options, String steps, boolean keep) throws Exception {
    return Databases.transact(options, steps, keep);
  }

  public String databaseTables(String options, String prefix) throws Exception { return Databases.tables(options, prefix); }

  public void tableChanged(SparkSession session, String name, String location) {
    Tables.changed(session, name, location);
  }

  public Files files(SparkSession session) { return new Files(session.sparkContext().hadoopConfiguration()); }

  public String confs(SparkSession session) throws Exception { return Sessions.confs(session); }

  public String temporaryFunctions(SparkSession session) throws Exception { return Sessions.temporaryFunctions(session); }

  public long inputBytes(Dataset<?> rows) { return Batches.inputBytes(rows); }

  public String missingFiles(StreamingQuery query) throws Exception { return Batches.missingFiles(query); }

  public int partitions(Dataset<?> rows) { return Batches.partitions(rows); }

  public String write(SparkSession session, DataFrameWriter<?> writer, String folder) throws Exception {
    return Batches.write(session, writer, folder);
  }

  public QueryListener listen(SparkSession session, BiConsumer<String, String> engine) {
    QueryListener listener = new QueryListener(engine);
    session.streams().addListener(listener);
    return listener;
  }

  public void release(SparkSession session, QueryListener listener) throws Exception {
    Queries.release(session, listener);
  }

  public boolean stop(StreamingQuery query, long deadlineMillis) throws Exception {
    return Queries.stop(query, deadlineMillis);
  }

  public void connectStreamingSelects(SparkSession session, String folder, String confs, long millis) throws Exception {
    StreamingSelects.connect(session, folder, confs, millis);
  }

  public StreamingCursor streamingCursor(Dataset<?> rows, boolean live) { return StreamingSelects.create(rows, live); }

  public void connectThrift(Map<?, ?> sessions) { ThriftStreamingSelects.connect(sessions); }

  public void closeStreamingSelects() { StreamingSelects.closeAll(); }

  /** For who writes its topic. */
  public KafkaTable kafkaTable(SparkSession session, String schema, String name) throws Exception {
    return KafkaTable.of(session, schema, name);
  }

  public String checkRealTime(SparkSession session, LogicalPlan query) throws Exception { return RealTimeCheck.check(session, query); }

  public RealTimeProgress watchRealTime(
      SparkSession session, String pool, String run, BiConsumer<String, String> engine) {
    return RealTimeProgress.watch(session.sparkContext(), pool, run, engine);
  }

  public void unwatchRealTime(SparkSession session, RealTimeProgress progress) {
    RealTimeProgress.unwatch(session.sparkContext(), progress);
  }

  public int cores(SparkSession session) { return RealTimeCheck.cores(session.sparkContext()); }

  public Throwable failure(StreamingQuery query) { return Queries.failure(query); }
}
