package dev.jetsql.kafka.transactions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.reflect.ClassTag$;

/**
 * The methods that Python calls to write topics exactly once. The class needs Kafka's classes, so
 * Python uses it after the connector is loaded.
 *
 * <p>In all methods `conf` is a producer's settings as JSON, and `idPrefix` is the prefix of a
 * job's transactional ids. Except for `write`, the methods return an error of the broker as
 * {"step", "class", "message"}.
 */
public final class TransactionalTopics {
  private static final TypeReference<HashMap<String, Object>> SETTINGS = new TypeReference<>() {};
  private static final TypeReference<HashMap<String, String>> HEADERS = new TypeReference<>() {};
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private TransactionalTopics() {}

  /** Returns the parts that a batch is split into, see `PartitionManifest`. */
  public static String parts(Dataset<Row> rows) throws Exception {
    return PartitionManifest.of(rdd(rows));
  }

  /**
   * Writes a batch, each part in its own transaction. Returns {"rows", "written"}, where "written"
   * excludes the rows of parts that were committed before.
   */
  public static String write(
      Dataset<Row> rows,
      String conf,
      String idPrefix,
      String job,
      long batch,
      String parts,
      String topic,
      boolean keyed,
      String addedHeaders)
      throws Exception {
    var writer =
        new TransactionalPartWriter(
            settings(conf),
            idPrefix,
            job,
            batch,
            names(parts),
            topic,
            keyed,
            Json.MAPPER.readValue(addedHeaders, HEADERS));
    RDD<InternalRow> rdd = rdd(rows);
    // An object and not a lambda: to clean a closure, Spark would read its class file from the jar.
    var reports =
        (String[])
            rdd.sparkContext().runJob(rdd, writer, ClassTag$.MODULE$.<String>apply(String.class));
    long all = 0;
    long written = 0;
    for (String report : reports) {
      JsonNode part = Json.MAPPER.readTree(report);
      all += part.get("rows").asLong();
      written += part.get("written").asLong();
    }
    ObjectNode sum = Json.MAPPER.createObjectNode();
    sum.put("rows", all);
    sum.put("written", written);
    return sum.toString();
  }

  /**
   * Returns the rows of a batch. For a stream it returns the rows that Spark has already planned,
   * to avoid a second planning.
   */
  private static RDD<InternalRow> rdd(Dataset<Row> rows) {
    var execution = rows.queryExecution();
    return execution.logical() instanceof LogicalRDD planned ? planned.rdd() : execution.toRdd();
  }

  /**
   * Closes a job's producers on the executors that run these tasks. The pool closes the others when
   * they have been idle.
   */
  public static void closeProducers(SparkSession session, String idPrefix, int tasks) {
    List<Integer> numbers = IntStream.range(0, tasks).boxed().toList();
    var context = JavaSparkContext.fromSparkContext(session.sparkContext());
    context.parallelize(numbers, tasks).foreachPartition(new IdleProducerCloser(idPrefix));
  }

  /**
   * Returns the newest committed batch of each part: {"newest": {part: batch}}, without parts that
   * have none.
   */
  public static String newestBatches(String conf, String idPrefix, String parts, long millis)
      throws Exception {
    return sendRequest(
        "newest",
        conf,
        millis,
        (admin, response) -> {
          String[] names = names(parts);
          Map<String, ListConsumerGroupOffsetsSpec> groups = new HashMap<>();
          for (String name : names) groups.put(idPrefix + name, new ListConsumerGroupOffsetsSpec());
          var offsets = admin.listConsumerGroupOffsets(groups).all().get();
          ObjectNode newest = response.putObject("newest");
          for (String name : names) {
            long batch = ProducerPool.newestBatch(offsets.get(idPrefix + name));
            if (batch >= 0) newest.put(name, batch);
          }
        });
  }

  /**
   * Returns the broker's retention time for the offsets of a group: {"minutes"}, or {} if it does
   * not report the time.
   */
  public static String offsetsRetention(String conf, long millis) throws Exception {
    return sendRequest(
        "retention",
        conf,
        millis,
        (admin, response) -> {
          String node = admin.describeCluster().nodes().get().iterator().next().idString();
          ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node);
          var configs = admin.describeConfigs(Collections.singleton(broker)).all().get();
          ConfigEntry entry = configs.get(broker).get("offsets.retention.minutes");
          if (entry != null && entry.value() != null)
            response.put("minutes", Long.parseLong(entry.value()));
        });
  }

  /** Returns the limit of a topic for a batch of messages: {"bytes"}. */
  public static String largestBatch(String conf, String topic, long millis) throws Exception {
    return sendRequest(
        "limit",
        conf,
        millis,
        (admin, response) -> {
          ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
          var configs = admin.describeConfigs(Collections.singleton(resource)).all().get();
          String bytes = configs.get(resource).get("max.message.bytes").value();
          response.put("bytes", Long.parseLong(bytes));
        });
  }

  /**
   * Opens and closes the producers of these parts, so that attempts in progress can no longer
   * commit.
   */
  public static String fence(String conf, String idPrefix, String parts) throws Exception {
    ObjectNode response = Json.MAPPER.createObjectNode();
    String[] names = names(parts);
    try {
      for (String name : names) {
        Map<String, Object> settings = settings(conf);
        settings.put("transactional.id", idPrefix + name);
        var producer =
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        try {
          producer.initTransactions();
        } finally {
          producer.close(CLOSE_TIMEOUT);
        }
      }
    } catch (Exception e) {
      explain(e, "open", response);
    }
    return response.toString();
  }

  /** Deletes the consumer groups of a job and returns their number: {"deleted"}. */
  public static String deleteGroups(String conf, String idPrefix, long millis) throws Exception {
    return sendRequest(
        "forget",
        conf,
        millis,
        (admin, response) -> {
          List<String> groups =
              admin.listConsumerGroups().all().get().stream()
                  .map(ConsumerGroupListing::groupId)
                  .filter(group -> group.startsWith(idPrefix))
                  .toList();
          if (!groups.isEmpty()) admin.deleteConsumerGroups(groups).all().get();
          response.put("deleted", groups.size());
        });
  }

  /**
   * Tests a transaction without rows and rolls it back, see `Preflight`. Returns {} if all steps
   * succeed.
   */
  public static String preflight(String conf, String id, String topic, long millis) {
    ObjectNode response = Json.MAPPER.createObjectNode();
    Preflight preflight = new Preflight(id, topic, millis);
    try {
      preflight.run(conf);
    } catch (Exception e) {
      explain(e, preflight.step(), response);
    } finally {
      preflight.close();
    }
    return response.toString();
  }

  /**
   * Reports each step of each part to a listener, for the fail points of crash tests; null removes
   * the listener.
   */
  public static void listen(BiConsumer<String, String> listener) {
    PartProgress.listen(listener);
  }

  /** A request to the broker, which puts its result into the response. */
  private interface Request {
    void send(AdminClient admin, ObjectNode response) throws Exception;
  }

  private static String sendRequest(String step, String conf, long millis, Request request)
      throws Exception {
    ObjectNode response = Json.MAPPER.createObjectNode();
    AdminClient admin = AdminClients.create(settings(conf), millis);
    try {
      request.send(admin, response);
    } catch (Exception e) {
      explain(e, step, response);
    } finally {
      admin.close(CLOSE_TIMEOUT);
    }
    return response.toString();
  }

  static Map<String, Object> settings(String conf) throws JsonProcessingException {
    return Json.MAPPER.readValue(conf, SETTINGS);
  }

  private static String[] names(String parts) throws JsonProcessingException {
    return Json.MAPPER.readValue(parts, String[].class);
  }

  /** Puts the innermost error into the response: Kafka wraps its errors several times. */
  private static void explain(Throwable error, String step, ObjectNode response) {
    Throwable inner = error;
    while (inner.getCause() != null
        && (inner instanceof ExecutionException || inner.getClass() == KafkaException.class)) {
      inner = inner.getCause();
    }
    response.put("step", step);
    response.put("class", inner.getClass().getName());
    response.put("message", String.valueOf(inner.getMessage()));
  }
}
