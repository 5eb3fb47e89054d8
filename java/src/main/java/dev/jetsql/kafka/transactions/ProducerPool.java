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
 * The transactional producers of one JVM. They are kept between batches because opening one takes
 * three requests to the broker.
 *
 * <p>A task removes its producer from the pool while it uses it. A second attempt at the same part
 * opens another producer, which fences the first attempt on any machine: the broker accepts no
 * commit from a producer whose id was opened again. The newest batch of a producer is therefore
 * correct as long as the producer can commit.
 */
final class ProducerPool {
  private static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(5);
  private static final long CHECK_MILLIS = 30_000;
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
  private static final Map<String, PooledProducer> idle = new HashMap<>(); // by transactional id
  private static Thread reaper;

  private ProducerPool() {}

  /** A producer with its id, and the newest batch whose rows it has committed in this part. */
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

    /** Closes the producer, which rolls back an open transaction. */
    void close() {
      producer.close(CLOSE_TIMEOUT);
    }
  }

  /**
   * Returns the idle producer with this id if it has the same settings; otherwise opens one. The
   * caller owns the producer until `giveBack`.
   */
  static PooledProducer take(String id, Map<String, Object> conf, PartProgress progress)
      throws Exception {
    PooledProducer pooled;
    synchronized (ProducerPool.class) {
      pooled = idle.remove(id);
    }
    if (pooled != null && pooled.conf.equals(conf)) return pooled;
    if (pooled != null) pooled.close();
    return open(id, conf, progress);
  }

  /** Returns a producer to the pool for the next batch. */
  static void giveBack(PooledProducer used) {
    PooledProducer replaced;
    used.idleSince = System.nanoTime();
    synchronized (ProducerPool.class) {
      replaced = idle.put(used.id, used);
      if (reaper == null) {
        reaper = new Thread(ProducerPool::closeUnused, "jetsql-kafka-producers");
        reaper.setDaemon(true);
        reaper.start();
      }
    }
    if (replaced != null) replaced.close();
  }

  /** Closes the idle producers whose ids have this prefix. */
  static void close(String idPrefix) {
    close(idPrefix, Long.MAX_VALUE);
  }

  private static void close(String idPrefix, long usedBefore) {
    List<PooledProducer> removed = new ArrayList<>();
    synchronized (ProducerPool.class) {
      Iterator<PooledProducer> iterator = idle.values().iterator();
      while (iterator.hasNext()) {
        PooledProducer pooled = iterator.next();
        if (!pooled.id.startsWith(idPrefix)) continue;
        if (usedBefore != Long.MAX_VALUE && pooled.idleSince - usedBefore > 0) continue;
        iterator.remove();
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
   * Returns the newest batch that the broker has recorded. The offset must be stable, so that it
   * includes a commit in progress.
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

  /** Returns the newest batch in the offsets of a group, or -1 if there is none. */
  static long newestBatch(Map<TopicPartition, OffsetAndMetadata> offsets) {
    long newest = -1L;
    for (OffsetAndMetadata offset : offsets.values()) {
      if (offset != null) newest = Math.max(newest, offset.offset() - 1L);
    }
    return newest;
  }

  /** Closes producers that have been idle for `IDLE_NANOS`, and returns when the pool is empty. */
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
