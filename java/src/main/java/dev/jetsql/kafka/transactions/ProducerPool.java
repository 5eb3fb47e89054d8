package dev.jetsql.kafka.transactions;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The transactional producers of one JVM, kept between batches because opening one takes three
 * requests to the broker.
 *
 * <p>A task removes its producer from the pool while it uses it. A second attempt at the same part
 * finds none and opens its own, which fences the first attempt, wherever that runs: the broker
 * accepts no commit from a producer whose id was opened again. So what a producer knows of the
 * committed batches stays true as long as it can commit.
 */
final class ProducerPool {
  private static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(5);
  private static final long CHECK_MILLIS = 30_000;
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
  private static final Map<String, PooledProducer> idle = new HashMap<>(); // by transactional id
  private static Thread reaper;

  private ProducerPool() {}

  /** A producer with its id, and the newest batch whose rows of this part are committed. */
  static final class PooledProducer {
    private final String id;
    private final Map<String, Object> conf;
    private final KafkaProducer<byte[], byte[]> producer;
    private long newestBatch; // -1 before the first
    private long idleSince;

    private PooledProducer(
        String id, Map<String, Object> conf, KafkaProducer<byte[], byte[]> producer) {
      this.id = id;
      this.conf = conf;
      this.producer = producer;
    }

    String id() {
      return id;
    }

    KafkaProducer<byte[], byte[]> producer() {
      return producer;
    }

    long newestBatch() {
      return newestBatch;
    }

    void setNewestBatch(long batch) {
      newestBatch = batch;
    }

    /** Close the producer, which rolls back an open transaction. */
    void close() {
      producer.close(CLOSE_TIMEOUT);
    }
  }

  /**
   * Return the idle producer of this id if it has the same settings, or open one. The caller owns
   * it.
   */
  static PooledProducer take(String id, Map<String, Object> conf, PartProgress progress)
      throws Exception {
    PooledProducer found;
    synchronized (ProducerPool.class) {
      found = idle.remove(id);
    }
    if (found != null && found.conf.equals(conf)) return found;
    if (found != null) found.close();
    return open(id, conf, progress);
  }

  /** Put a producer into the pool for the next batch. */
  static void giveBack(PooledProducer used) {
    PooledProducer other;
    used.idleSince = System.nanoTime();
    synchronized (ProducerPool.class) {
      other = idle.put(used.id, used);
      if (reaper == null) {
        reaper = new Thread(ProducerPool::closeUnused, "jetsql-kafka-producers");
        reaper.setDaemon(true);
        reaper.start();
      }
    }
    if (other != null) other.close();
  }

  /** Close the idle producers whose ids have this prefix. */
  static void close(String idPrefix) {
    close(idPrefix, Long.MAX_VALUE);
  }

  private static void close(String idPrefix, long usedBefore) {
    List<PooledProducer> removed = new ArrayList<>();
    synchronized (ProducerPool.class) {
      Iterator<PooledProducer> each = idle.values().iterator();
      while (each.hasNext()) {
        PooledProducer pooled = each.next();
        if (!pooled.id.startsWith(idPrefix)) continue;
        if (usedBefore != Long.MAX_VALUE && pooled.idleSince - usedBefore > 0) continue;
        each.remove();
        removed.add(pooled);
      }
    }
    removed.forEach(PooledProducer::close);
  }

  private static PooledProducer open(String id, Map<String, Object> conf, PartProgress progress)
      throws Exception {
    Map<String, Object> full = new HashMap<>(conf);
    full.put("transactional.id", id);
    full.put("client.id", id);
    progress.reached("open");
    var producer = new KafkaProducer<>(full, new ByteArraySerializer(), new ByteArraySerializer());
    PooledProducer opened = new PooledProducer(id, conf, producer);
    try {
      producer
          .initTransactions(); // fences the previous producer of this id and rolls back its open
      // transaction
      progress.reached("opened");
      opened.newestBatch = newestBatch(id, conf);
      return opened;
    } catch (Exception e) {
      opened.close();
      throw e;
    }
  }

  /**
   * Return the broker's newest batch. It must be a stable offset: others leave out a commit that is
   * under way.
   */
  private static long newestBatch(String id, Map<String, Object> conf) throws Exception {
    AdminClient admin = AdminClients.create(conf);
    try {
      var group = Collections.singletonMap(id, new ListConsumerGroupOffsetsSpec());
      var stable = new ListConsumerGroupOffsetsOptions().requireStable(true);
      return newestBatch(
          admin.listConsumerGroupOffsets(group, stable).partitionsToOffsetAndMetadata(id).get());
    } finally {
      admin.close(CLOSE_TIMEOUT);
    }
  }

  /** Return the newest batch that the offsets of a group record, or -1 if there are none. */
  static long newestBatch(Map<TopicPartition, OffsetAndMetadata> offsets) {
    long newest = -1L;
    for (OffsetAndMetadata offset : offsets.values()) {
      if (offset != null) newest = Math.max(newest, offset.offset() - 1L);
    }
    return newest;
  }

  /** Close producers that were idle for long, until the pool is empty. */
  private static void closeUnused() {
    while (true) {
      try {
        Thread.sleep(CHECK_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
      close("", System.nanoTime() - IDLE_NANOS);
      synchronized (ProducerPool.class) {
        if (!idle.isEmpty()) continue;
        reaper = null;
        return;
      }
    }
  }
}
