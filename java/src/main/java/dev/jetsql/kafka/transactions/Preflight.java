package dev.jetsql.kafka.transactions;

import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Tests the steps of a batch without rows and rolls them back: connect, describe the topic, check
 * the permission to write, open a transaction, and record the number of a batch in it.
 */
final class Preflight {
  private final String id;
  private final String topic;
  private final long millis;
  private String step = "connect";
  private AdminClient admin;
  private KafkaProducer<byte[], byte[]> producer;

  /**
   * @param id the transactional id to use
   * @param topic null if each row names its topic
   * @param millis the timeout of each request, in milliseconds
   */
  Preflight(String id, String topic, long millis) {
    this.id = id;
    this.topic = topic;
    this.millis = millis;
  }

  /** Returns the step that failed if `run` threw an error. */
  String step() {
    return step;
  }

  /** Runs all steps. Throws Kafka's errors. */
  void run(String conf) throws Exception {
    admin = AdminClients.create(TransactionalTopics.settings(conf), millis);
    admin.describeCluster().nodes().get(millis / 2, TimeUnit.MILLISECONDS);
    if (topic != null) checkTopic();
    tryTransaction(TransactionalTopics.settings(conf));
  }

  private void checkTopic() throws Exception {
    step = "topic";
    DescribeTopicsOptions options = new DescribeTopicsOptions().includeAuthorizedOperations(true);
    var topics = admin.describeTopics(Collections.singleton(topic), options).allTopicNames().get();
    Set<AclOperation> allowed = topics.get(topic).authorizedOperations();
    step = "write";
    if (allowed != null
        && !allowed.contains(AclOperation.WRITE)
        && !allowed.contains(AclOperation.ALL)) {
      throw new TopicAuthorizationException(Collections.singleton(topic));
    }
  }

  private void tryTransaction(Map<String, Object> settings) {
    step = "producer";
    settings.put("transactional.id", id);
    settings.put("max.block.ms", String.valueOf(millis));
    producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    step = "transaction";
    producer.initTransactions();
    producer.beginTransaction();
    if (topic != null) {
      step = "mark";
      var mark = Collections.singletonMap(new TopicPartition(topic, 0), new OffsetAndMetadata(0L));
      producer.sendOffsetsToTransaction(mark, new ConsumerGroupMetadata(id));
    }
    producer.abortTransaction();
  }

  /** Closes the clients without waiting. */
  void close() {
    if (producer != null) producer.close(Duration.ZERO);
    if (admin != null) admin.close(Duration.ZERO);
  }
}
