package dev.jetsql.kafka;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.unsafe.Platform;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction2;

/**
 * Writes one part of a batch in one transaction, in which the batch's number becomes an offset of a group of the same
 * name. A part that is in already is read and not written: Spark commits a task's state when its rows have been read.
 *
 * Runs on executors. Rows: key, value, headers, topic, partition, as Kafka's tables of Spark have them.
 */
public class PartWriter extends AbstractFunction2 implements Serializable {
  private static final long serialVersionUID = 1L;
  private final HashMap conf;
  private final String prefix;
  private final String job;
  private final long batch;
  private final String[] names;
  private final String topic;
  private final boolean keyed;
  private final HashMap added;

  /**
   * prefix: of the ids. names: by task. topic: where a row has none, may be null. keyed: each row must have a key.
   * added: headers, text by name.
   */
  public PartWriter(Map conf, String prefix, String job, long batch, String[] names, String topic, boolean keyed, Map added) {
    this.conf = new HashMap(conf);
    this.prefix = prefix;
    this.job = job;
    this.batch = batch;
    this.names = names;
    this.topic = topic;
    this.keyed = keyed;
    this.added = new HashMap(added);
  }

  /** One JSON object: {"rows", "written"}. */
  public Object apply(Object context, Object rows) {
    String name = names[((TaskContext) context).partitionId()];
    Steps steps = new Steps(job);
    Producers.Open open = null;
    boolean done = false;
    try {
      Iterator each = (Iterator) rows;
      long count = 0;
      if (each.hasNext()) {
        open = Producers.take(prefix + name, conf, steps);
        if (open.newest > batch) throw new IllegalStateException("newest: " + open.newest);
        if (open.newest < batch) count = write(open, each, steps);
      }
      steps.reading = true;
      String told = told(count, read(each));
      done = true;
      return told;
    } catch (Exception e) {
      Platform.throwException(failure(name, steps, e));
      return null;
    } finally {
      // Its thread may have been interrupted, and closing would not wait for the transaction to be undone then.
      boolean interrupted = Thread.interrupted();
      if (open != null && done) Producers.keep(open);
      if (open != null && !done) open.close();
      if (interrupted) Thread.currentThread().interrupt();
    }
  }

  private static long read(Iterator rows) {
    long count = 0;
    while (rows.hasNext()) {
      rows.next();
      count++;
    }
    return count;
  }

  private long write(Producers.Open open, Iterator rows, Steps steps) throws Exception {
    String marked = null;
    long count = 0;
    steps.come("begin");
    open.producer.beginTransaction();
    steps.come("begun");
    while (true) {
      steps.reading = true;
      if (!rows.hasNext()) break;
      InternalRow row = (InternalRow) rows.next();
      steps.reading = false;
      ProducerRecord message = message(row);
      if (marked == null) marked = topic == null ? message.topic() : topic;
      open.producer.send(message);
      count++;
    }
    // Who was fenced is told so here: the client would wait for a minute where it finds that out in the next call.
    open.producer.flush();
    steps.come("sent");
    Map mark = Collections.singletonMap(new TopicPartition(marked, 0), new OffsetAndMetadata(batch + 1L));
    open.producer.sendOffsetsToTransaction(mark, new ConsumerGroupMetadata(open.id));
    steps.come("marked");
    open.producer.commitTransaction();
    open.newest = batch;
    steps.come("committed");
    return count;
  }

  private ProducerRecord message(InternalRow row) {
    String to = row.isNullAt(3) ? topic : row.getUTF8String(3).toString();
    if (to == null) throw new IllegalStateException("no topic");
    if (keyed && row.isNullAt(0)) throw new IllegalStateException("no key");
    Integer partition = row.isNullAt(4) ? null : Integer.valueOf(row.getInt(4));
    Object key = row.isNullAt(0) ? null : row.getBinary(0);
    Object value = row.isNullAt(1) ? null : row.getBinary(1);
    ProducerRecord message = new ProducerRecord(to, partition, key, value);
    Headers headers = message.headers();
    if (!row.isNullAt(2)) {
      ArrayData given = row.getArray(2);
      for (int i = 0; i < given.numElements(); i++) {
        InternalRow header = given.getStruct(i, 2);
        headers.add(header.getUTF8String(0).toString(), header.isNullAt(1) ? null : header.getBinary(1));
      }
    }
    java.util.Iterator each = added.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry header = (Map.Entry) each.next();
      headers.add((String) header.getKey(), ((String) header.getValue()).getBytes(StandardCharsets.UTF_8));
    }
    return message;
  }

  private static String told(long written, long more) throws Exception {
    ObjectNode told = new ObjectMapper().createObjectNode();
    told.put("rows", written + more);
    told.put("written", written);
    return told.toString();
  }

  /** The error with what Kafka's own leaves out: which part it was, what it was about to do, and for how long. */
  private Exception failure(String name, Steps steps, Exception error) {
    if (steps.reading) return error;
    Throwable inner = error;
    while (inner.getCause() != null && inner.getClass().getName().equals("org.apache.kafka.common.KafkaException")) {
      inner = inner.getCause();
    }
    ObjectNode told = new ObjectMapper().createObjectNode();
    told.put("part", name);
    told.put("batch", batch);
    told.put("step", steps.step());
    told.put("seconds", steps.seconds());
    told.put("class", inner.getClass().getName());
    told.put("message", String.valueOf(inner.getMessage()));
    return new IllegalStateException("JetSQL Kafka part: " + told, error);
  }
}
