package dev.jetsql.sql;

import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.files.Files;
import dev.jetsql.kafka.KafkaConnector;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.kafka.KafkaTopicChecks;
import dev.jetsql.rows.Arrow;
import dev.jetsql.rows.Rows;
import dev.jetsql.stream.Batches;
import dev.jetsql.stream.GivenUp;
import dev.jetsql.stream.LateJobs;
import dev.jetsql.stream.Look;
import dev.jetsql.stream.Looks;
import dev.jetsql.stream.Members;
import dev.jetsql.stream.Queries;
import dev.jetsql.stream.RealTime;
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
    LateJobs.watch(session.sparkContext());
    if (Extension.taught(session)) return;
    Extension.inject(session.extensions());
    Sessions.renewState(session);
  }

  public void connect(
      String filter, BiFunction describe, BiFunction execute, Consumer cancel, BiFunction rows, BiFunction topic) {
    Extension.connect(filter, describe, execute);
    PythonCalls.connect(cancel);
    LiveTables.connect(rows);
    KafkaTopicChecks.connect(topic);
  }

  public void disconnect() {
    connect(null, null, null, null, null, null);
    Members.forget();
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

  /** Spark's Kafka connector is there from now on, see `KafkaConnector`. */
  public void loadKafka(SparkSession session) { KafkaConnector.load(session.sparkContext()); }

  /** Messages that don't fit the columns of a Kafka table, see `KafkaTable`. */
  public Dataset deadLetters(SparkSession session, String schema, String name, String partitions, String start, String end) {
    KafkaTable table = new KafkaTable(session, session.sharedState().externalCatalog().getTable(schema, name), new HashMap());
    return (Dataset) table.deadLetters(partitions, start, end);
  }

  public String members(SparkSession session) throws Exception { return Members.list(session); }

  public void watchMembers(SparkSession session, Consumer engine) throws Exception {
    Members.watch(session.sparkContext(), engine);
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
  public void end(SparkSession session, String group) { GivenUp.end(session.sparkContext(), group); }

  public void ran(Dataset rows) { Relations.ran(rows); }

  /** Run a statement with parameter markers, see `Parameters`. */
  public Dataset sql(SparkSession session, String text, String parameters) throws Exception {
    return Parameters.run(session, text, parameters);
  }

  public byte[] arrowSchema(Dataset rows, String columns) throws Exception { return Arrow.schema(rows, columns); }

  /** The rows as batches of Arrow, and as pickled ones, see `Rows`. */
  public Object[] arrowBatches(Dataset rows) { return Rows.serve(rows.toArrowBatchRdd()); }

  public Object[] pickledRows(Dataset rows) { return Rows.serve(rows.javaToPython().rdd()); }

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

  public long inputBytes(Dataset rows) { return Batches.inputBytes(rows); }

  public String missingFiles(StreamingQuery query) throws Exception { return Batches.missingFiles(query); }

  public int parts(Dataset rows) { return Batches.parts(rows); }

  public String write(SparkSession session, DataFrameWriter writer, String folder) throws Exception {
    return Batches.write(session, writer, folder);
  }

  public Queries.Listener listen(SparkSession session, BiConsumer engine) {
    Queries.Listener listener = new Queries.Listener(engine);
    session.streams().addListener(listener);
    return listener;
  }

  public void release(SparkSession session, Queries.Listener listener) throws Exception {
    Queries.release(session, listener);
  }

  public boolean stop(StreamingQuery query, long deadlineMillis) throws Exception {
    return Queries.stop(query, deadlineMillis);
  }

  public void connectLooks(SparkSession session, String folder, String confs, long millis) throws Exception {
    Looks.connect(session, folder, confs, millis);
  }

  public Look look(Dataset rows, boolean live) throws Exception { return Looks.of(rows, live); }

  public void connectThrift(Map sessions) { Looks.connectThrift(sessions); }

  public void closeLooks() throws Exception { Looks.closeAll(); }

  /** For who writes its topic. */
  public KafkaTable kafkaTable(SparkSession session, String schema, String name) throws Exception {
    return KafkaTable.load(session, schema, name);
  }

  public String realTime(SparkSession session, LogicalPlan query) throws Exception { return RealTime.judge(session, query); }

  public RealTime.Flow watchFlow(SparkSession session, String pool, String run, BiConsumer engine) throws Throwable {
    return RealTime.watch(session.sparkContext(), pool, run, engine);
  }

  public void unwatchFlow(SparkSession session, RealTime.Flow flow) { RealTime.unwatch(session.sparkContext(), flow); }

  public int cores(SparkSession session) { return RealTime.cores(session.sparkContext()); }

  public Throwable failure(StreamingQuery query) { return Queries.failure(query); }
}
