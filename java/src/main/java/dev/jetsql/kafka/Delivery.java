package dev.jetsql.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.reflect.ClassTag$;

/**
 * Everything that Python asks about exactly once delivery into Kafka; made where the connector is. conf: JSON of a
 * producer's settings. An error of the broker's is an answer: {"step", "class", "message"}.
 */
public class Delivery {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TO_CLOSE = Duration.ofSeconds(5);

  /** See `Parts`. */
  public String parts(Dataset rows) throws Exception { return Parts.of(rows(rows)); }

  /**
   * Write a batch, each part in a transaction of its own. Answers the rows: {"rows", "written"}; written: those that were
   * not in already.
   */
  public String write(Dataset rows, String conf, String ids, String job, long batch, String names, String topic,
      boolean keyed, String added) throws Exception {
    String[] parts = (String[]) JSON.readValue(names, String[].class);
    PartWriter writer = new PartWriter(map(conf), ids, job, batch, parts, topic, keyed, map(added));
    RDD each = rows(rows);
    // A class of its own is taken as it is; closures, which it would be wrapped in otherwise, Spark reads from their jars.
    Object[] told = (Object[]) each.sparkContext().runJob(each, writer, ClassTag$.MODULE$.apply(Object.class));
    long all = 0;
    long written = 0;
    for (int i = 0; i < told.length; i++) {
      JsonNode part = JSON.readTree((String) told[i]);
      all += part.get("rows").asLong();
      written += part.get("written").asLong();
    }
    ObjectNode sum = JSON.createObjectNode();
    sum.put("rows", all);
    sum.put("written", written);
    return sum.toString();
  }

  /** The rows of a batch of a stream, which Spark has planned by now; to plan what reads them would take as long again. */
  private static RDD rows(Dataset rows) {
    LogicalPlan plan = rows.queryExecution().logical();
    return plan instanceof LogicalRDD ? ((LogicalRDD) plan).rdd() : rows.queryExecution().toRdd();
  }

  /** Close the producers of a job on as many members as a few small tasks come to; others close when they are idle. */
  public void close(SparkSession session, String ids, int tasks) {
    List each = new ArrayList();
    for (int i = 0; i < tasks; i++) each.add(Integer.valueOf(i));
    JavaRDD places = JavaSparkContext.fromSparkContext(session.sparkContext()).parallelize(each, tasks);
    places.foreachPartition(new Closing(ids));
  }

  /** The newest batch that is in, by part: {"newest": {name: batch}}; parts without any are left out. */
  public String newest(String conf, String ids, String names, long millis) throws Exception {
    ObjectNode answer = JSON.createObjectNode();
    AdminClient admin = admin(conf, millis);
    try {
      Map asked = new java.util.HashMap();
      String[] parts = (String[]) JSON.readValue(names, String[].class);
      for (int i = 0; i < parts.length; i++) asked.put(ids + parts[i], new ListConsumerGroupOffsetsSpec());
      Map found = (Map) admin.listConsumerGroupOffsets(asked).all().get();
      ObjectNode newest = answer.putObject("newest");
      for (int i = 0; i < parts.length; i++) {
        long batch = Producers.newest((Map) found.get(ids + parts[i]));
        if (batch >= 0) newest.put(parts[i], batch);
      }
    } catch (Exception e) {
      explain(e, "newest", answer);
    } finally {
      admin.close(TO_CLOSE);
    }
    return answer.toString();
  }

  /** Minutes that a group's offsets are kept: {"minutes"}, without it when the broker doesn't tell. */
  public String retention(String conf, long millis) throws Exception {
    ObjectNode answer = JSON.createObjectNode();
    AdminClient admin = admin(conf, millis);
    try {
      Iterator nodes = ((Collection) admin.describeCluster().nodes().get()).iterator();
      ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, ((Node) nodes.next()).idString());
      Map found = (Map) admin.describeConfigs(Collections.singleton(broker)).all().get();
      ConfigEntry entry = ((Config) found.get(broker)).get("offsets.retention.minutes");
      if (entry != null && entry.value() != null) answer.put("minutes", Long.parseLong(entry.value()));
    } catch (Exception e) {
      explain(e, "retention", answer);
    } finally {
      admin.close(TO_CLOSE);
    }
    return answer.toString();
  }

  /** Open and close the producers of these parts, so that nobody who has one can commit any more. */
  public String fence(String conf, String ids, String names) throws Exception {
    ObjectNode answer = JSON.createObjectNode();
    String[] parts = (String[]) JSON.readValue(names, String[].class);
    try {
      for (int i = 0; i < parts.length; i++) {
        Map whole = map(conf);
        whole.put("transactional.id", ids + parts[i]);
        KafkaProducer producer = new KafkaProducer(whole, new ByteArraySerializer(), new ByteArraySerializer());
        try {
          producer.initTransactions();
        } finally {
          producer.close(TO_CLOSE);
        }
      }
    } catch (Exception e) {
      explain(e, "open", answer);
    }
    return answer.toString();
  }

  /** Delete the groups whose names begin so: {"deleted"}. */
  public String forget(String conf, String ids, long millis) throws Exception {
    ObjectNode answer = JSON.createObjectNode();
    AdminClient admin = admin(conf, millis);
    try {
      List ours = new ArrayList();
      Iterator each = ((Collection) admin.listConsumerGroups().all().get()).iterator();
      while (each.hasNext()) {
        String group = ((ConsumerGroupListing) each.next()).groupId();
        if (group.startsWith(ids)) ours.add(group);
      }
      if (!ours.isEmpty()) admin.deleteConsumerGroups(ours).all().get();
      answer.put("deleted", ours.size());
    } catch (Exception e) {
      explain(e, "forget", answer);
    } finally {
      admin.close(TO_CLOSE);
    }
    return answer.toString();
  }

  /**
   * Try what a batch needs, with no rows, and take it back: reach the topic, be allowed to write it, have a transaction,
   * note a batch's number in it. topic: may be null. Answers {} when all of it works.
   */
  public String rehearse(String conf, String id, String topic, long millis) throws Exception {
    ObjectNode answer = JSON.createObjectNode();
    String step = "connect";
    AdminClient admin = null;
    KafkaProducer producer = null;
    try {
      admin = admin(conf, millis);
      admin.describeCluster().nodes().get(millis / 2, TimeUnit.MILLISECONDS);
      if (topic != null) {
        step = "topic";
        DescribeTopicsOptions options = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        Map found = (Map) admin.describeTopics(Collections.singleton(topic), options).allTopicNames().get();
        Collection allowed = ((TopicDescription) found.get(topic)).authorizedOperations();
        step = "write";
        if (allowed != null && !allowed.contains(AclOperation.WRITE) && !allowed.contains(AclOperation.ALL)) {
          throw new org.apache.kafka.common.errors.TopicAuthorizationException(Collections.singleton(topic));
        }
      }
      step = "producer";
      Map whole = map(conf);
      whole.put("transactional.id", id);
      whole.put("max.block.ms", String.valueOf(millis));
      producer = new KafkaProducer(whole, new ByteArraySerializer(), new ByteArraySerializer());
      step = "transaction";
      producer.initTransactions();
      producer.beginTransaction();
      if (topic != null) {
        step = "mark";
        Map mark = Collections.singletonMap(new TopicPartition(topic, 0), new OffsetAndMetadata(0L));
        producer.sendOffsetsToTransaction(mark, new ConsumerGroupMetadata(id));
      }
      producer.abortTransaction();
    } catch (Exception e) {
      explain(e, step, answer);
    } finally {
      if (producer != null) producer.close(Duration.ZERO);
      if (admin != null) admin.close(Duration.ZERO);
    }
    return answer.toString();
  }

  /** Tell a listener where each part is on its way, see `Steps`; null tells nobody. */
  public void watch(BiConsumer listener) {
    if (listener == null) System.getProperties().remove(Steps.LISTENER);
    else System.getProperties().put(Steps.LISTENER, listener);
  }

  private static AdminClient admin(String conf, long millis) throws Exception {
    Map own = Brokers.adminConf(map(conf));
    own.put("default.api.timeout.ms", String.valueOf(millis));
    own.put("request.timeout.ms", String.valueOf(millis));
    return AdminClient.create(own);
  }

  private static Map map(String json) throws Exception { return (Map) JSON.readValue(json, java.util.HashMap.class); }

  /** The innermost error: Kafka wraps its own into several. */
  private static void explain(Throwable error, String step, ObjectNode answer) {
    Throwable inner = error;
    while (inner.getCause() != null && (inner instanceof ExecutionException
        || inner.getClass().getName().equals("org.apache.kafka.common.KafkaException"))) inner = inner.getCause();
    answer.put("step", step);
    answer.put("class", inner.getClass().getName());
    answer.put("message", String.valueOf(inner.getMessage()));
  }
}
