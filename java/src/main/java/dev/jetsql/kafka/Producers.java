package dev.jetsql.kafka;

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
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The transactional producers of one JVM, kept between batches: opening one asks the broker three times.
 *
 * A producer is taken out while a task uses it. A second attempt at the same part finds none and opens its own, which
 * fences the first, wherever that is: the broker takes no commit from a producer whose id was opened again. So what a
 * producer knows of the batches that are in stays true for as long as it can commit.
 */
class Producers {
  private static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(5);
  private static final Duration TO_CLOSE = Duration.ofSeconds(5);
  private static final Map idle = new HashMap();  // transactional id -> Open
  private static Thread reaper;

  /** newest: the newest batch whose rows of this part are in, -1 before the first. */
  static class Open {
    final String id;
    final Map conf;
    final KafkaProducer producer;
    long newest;
    long since;

    Open(String id, Map conf, KafkaProducer producer) {
      this.id = id;
      this.conf = conf;
      this.producer = producer;
    }

    /** Undoes a transaction that is under way. */
    void close() { producer.close(TO_CLOSE); }
  }

  static Open take(String id, Map conf, Steps steps) throws Exception {
    Open found;
    synchronized (Producers.class) { found = (Open) idle.remove(id); }
    if (found != null && found.conf.equals(conf)) return found;
    if (found != null) found.close();
    return open(id, conf, steps);
  }

  static void keep(Open open) {
    Open other;
    open.since = System.nanoTime();
    synchronized (Producers.class) {
      other = (Open) idle.put(open.id, open);
      if (reaper == null) {
        reaper = new Thread(new Reaper(), "jetsql-kafka-producers");
        reaper.setDaemon(true);
        reaper.start();
      }
    }
    if (other != null) other.close();
  }

  /** Close the idle ones whose ids begin so; how many there were. */
  static int close(String prefix) { return close(prefix, Long.MAX_VALUE); }

  private static int close(String prefix, long usedBefore) {
    List ended = new ArrayList();
    synchronized (Producers.class) {
      Iterator each = idle.values().iterator();
      while (each.hasNext()) {
        Open open = (Open) each.next();
        if (!open.id.startsWith(prefix) || (usedBefore != Long.MAX_VALUE && open.since - usedBefore > 0)) continue;
        each.remove();
        ended.add(open);
      }
    }
    for (int i = 0; i < ended.size(); i++) ((Open) ended.get(i)).close();
    return ended.size();
  }

  private static Open open(String id, Map conf, Steps steps) throws Exception {
    Map whole = new HashMap(conf);
    whole.put("transactional.id", id);
    whole.put("client.id", id);
    steps.come("open");
    KafkaProducer producer = new KafkaProducer(whole, new ByteArraySerializer(), new ByteArraySerializer());
    Open open = new Open(id, conf, producer);
    try {
      producer.initTransactions();  // fences who had the id before, and undoes what he left
      steps.come("opened");
      open.newest = newest(id, conf);
      return open;
    } catch (Exception e) {
      open.close();
      throw e;
    }
  }

  /** What the broker knows. Only a stable answer counts: a transaction that is being committed may not be seen yet. */
  private static long newest(String id, Map conf) throws Exception {
    AdminClient admin = AdminClient.create(Brokers.adminConf(conf));
    try {
      Map asked = Collections.singletonMap(id, new ListConsumerGroupOffsetsSpec());
      ListConsumerGroupOffsetsOptions stable = new ListConsumerGroupOffsetsOptions().requireStable(true);
      return newest((Map) admin.listConsumerGroupOffsets(asked, stable).partitionsToOffsetAndMetadata(id).get());
    } finally {
      admin.close(TO_CLOSE);
    }
  }

  /** The newest batch that a group's offsets speak of, -1 for none. */
  static long newest(Map offsets) {
    long newest = -1L;
    Iterator each = offsets.values().iterator();
    while (each.hasNext()) {
      OffsetAndMetadata offset = (OffsetAndMetadata) each.next();
      if (offset != null) newest = Math.max(newest, offset.offset() - 1L);
    }
    return newest;
  }

  /** Ends when the last producer has. */
  static class Reaper implements Runnable {
    public void run() {
      while (true) {
        try {
          Thread.sleep(30000L);
        } catch (InterruptedException e) {
          return;
        }
        close("", System.nanoTime() - IDLE_NANOS);
        synchronized (Producers.class) {
          if (!idle.isEmpty()) continue;
          reaper = null;
          return;
        }
      }
    }
  }
}
