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
 * What Python calls to write topics exactly once. It needs Kafka's classes, so Python makes it
 * after the connector is loaded.
 *
 * <p>In all methods `conf` is the JSON of a producer's settings and `idPrefix` is what the
 * transactional ids of a job begin with. Except for `write`, an error of the broker is an answer:
 * {"step", "class", "message"}.
 */
public final class TransactionalTopics {
  private static final TypeReference<HashMap<String, Object>> SETTINGS = new TypeReference<>() {};
  private static final TypeReference<HashMap<String, String>> HEADERS = new TypeReference<>() {};
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private TransactionalTopics() {}

  /** Return the parts that a batch is split into, see `PartitionManifest`. */
  public static String parts(Dataset<Row> rows) throws Exception {
    return PartitionManifest.of(rdd(rows));
  }

  /**
   * Write a batch, each part in a transaction of its own. Return {"rows", "written"}, where
   * "written" leaves out the rows of parts that were committed before.
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
    // No lambda: Spark would read the class file of a closure from its jar to clean it.
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
   * Return the rows of a batch. Spark has planned those of a stream; planning them again would take
   * as long again.
   */
  private static RDD<InternalRow> rdd(Dataset<Row> rows) {
    var execution = rows.queryExecution();
    return execution.logical() instanceof LogicalRDD planned ? planned.rdd() : execution.toRdd();
  }

  /**
   * Close a job's producers on the executors that a few small tasks reach; others close when they
   * have been idle.
   */
  public static void closeProducers(SparkSession session, String idPrefix, int tasks) {
    List<Integer> numbers = IntStream.range(0, tasks).boxed().toList();
    var context = JavaSparkContext.fromSparkContext(session.sparkContext());
    context.parallelize(numbers, tasks).foreachPartition(new IdleProducerCloser(idPrefix));
  }

  /** Return the newest committed batch of each part that has one: {"newest": {part: batch}}. */
  public static String newestBatches(String conf, String idPrefix, String parts, long millis)
      throws Exception {
    return answer(
        "newest",
        conf,
        millis,
        (admin, answer) -> {
          String[] names = names(parts);
          Map<String, ListConsumerGroupOffsetsSpec> groups = new HashMap<>();
          for (String name : names) groups.put(idPrefix + name, new ListConsumerGroupOffsetsSpec());
          var offsets = admin.listConsumerGroupOffsets(groups).all().get();
          ObjectNode newest = answer.putObject("newest");
          for (String name : names) {
            long batch = ProducerPool.newestBatch(offsets.get(idPrefix + name));
            if (batch >= 0) newest.put(name, batch);
          }
        });
  }

  /**
   * Return how long the broker keeps the offsets of a group: {"minutes"}, or {} if it does not
   * report that.
   */
  public static String offsetsRetention(String conf, long millis) throws Exception {
    return answer(
        "retention",
        conf,
        millis,
        (admin, answer) -> {
          String node = admin.describeCluster().nodes().get().iterator().next().idString();
          ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node);
          var configs = admin.describeConfigs(Collections.singleton(broker)).all().get();
          ConfigEntry entry = configs.get(broker).get("offsets.retention.minutes");
          if (entry != null && entry.value() != null)
            answer.put("minutes", Long.parseLong(entry.value()));
        });
  }

  /**
   * Open and close the producers of these parts, so that no attempt that is under way can commit
   * any more.
   */
  public static String fence(String conf, String idPrefix, String parts) throws Exception {
    ObjectNode answer = Json.MAPPER.createObjectNode();
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
      explain(e, "open", answer);
    }
    return answer.toString();
  }

  /** Delete the consumer groups of a job and return their number: {"deleted"}. */
  public static String deleteGroups(String conf, String idPrefix, long millis) throws Exception {
    return answer(
        "forget",
        conf,
        millis,
        (admin, answer) -> {
          List<String> groups =
              admin.listConsumerGroups().all().get().stream()
                  .map(ConsumerGroupListing::groupId)
                  .filter(group -> group.startsWith(idPrefix))
                  .toList();
          if (!groups.isEmpty()) admin.deleteConsumerGroups(groups).all().get();
          answer.put("deleted", groups.size());
        });
  }

  /**
   * Try a transaction without rows and roll it back, see `Preflight`. Return {} if all of it works.
   */
  public static String preflight(String conf, String id, String topic, long millis) {
    ObjectNode answer = Json.MAPPER.createObjectNode();
    Preflight preflight = new Preflight(id, topic, millis);
    try {
      preflight.run(conf);
    } catch (Exception e) {
      explain(e, preflight.step(), answer);
    } finally {
      preflight.close();
    }
    return answer.toString();
  }

  /**
   * Report each step of each part to a listener, for the fail points of crash tests; null removes
   * the listener.
   */
  public static void listen(BiConsumer<String, String> listener) {
    PartProgress.listen(listener);
  }

  /** A request to the broker, which puts its result into the answer. */
  private interface Request {
    void send(AdminClient admin, ObjectNode answer) throws Exception;
  }

  private static String answer(String step, String conf, long millis, Request request)
      throws Exception {
    ObjectNode answer = Json.MAPPER.createObjectNode();
    AdminClient admin = AdminClients.create(settings(conf), millis);
    try {
      request.send(admin, answer);
    } catch (Exception e) {
      explain(e, step, answer);
    } finally {
      admin.close(CLOSE_TIMEOUT);
    }
    return answer.toString();
  }

  static Map<String, Object> settings(String conf) throws JsonProcessingException {
    return Json.MAPPER.readValue(conf, SETTINGS);
  }

  private static String[] names(String parts) throws JsonProcessingException {
    return Json.MAPPER.readValue(parts, String[].class);
  }

  /** Put the innermost error into the answer: Kafka wraps its own errors several times. */
  private static void explain(Throwable error, String step, ObjectNode answer) {
    Throwable inner = error;
    while (inner.getCause() != null
        && (inner instanceof ExecutionException || inner.getClass() == KafkaException.class)) {
      inner = inner.getCause();
    }
    answer.put("step", step);
    answer.put("class", inner.getClass().getName());
    answer.put("message", String.valueOf(inner.getMessage()));
  }
}
