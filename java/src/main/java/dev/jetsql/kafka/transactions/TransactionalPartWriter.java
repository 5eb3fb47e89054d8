package dev.jetsql.kafka.transactions;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.kafka.transactions.ProducerPool.PooledProducer;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.unsafe.Platform;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction2;

/**
 * Writes one part of a batch in one transaction, which also commits the batch's number as the
 * offset of a consumer group with the part's name. If the part is already committed, its rows are
 * read but not written: Spark commits the state of a task only after its rows have been read.
 *
 * <p>It runs on executors. The rows have the columns key, value, headers, topic and partition, as
 * for the connector's writer.
 */
final class TransactionalPartWriter
    extends AbstractFunction2<TaskContext, Iterator<InternalRow>, String> implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int HEADERS = 2;
  private static final int TOPIC = 3;
  private static final int PARTITION = 4;

  private final HashMap<String, Object> conf;
  private final String idPrefix;
  private final String job;
  private final long batch;
  private final String[] parts;
  private final String topic;
  private final boolean keyed;
  private final HashMap<String, String> addedHeaders;

  /**
   * Creates the function of one batch.
   *
   * @param conf the settings of the producers
   * @param idPrefix the prefix of the transactional ids; the name of the part follows
   * @param parts the names of the parts, by task number
   * @param topic the topic of rows that do not name one, or null
   * @param keyed whether each row must have a key
   * @param addedHeaders headers to add to each message
   */
  TransactionalPartWriter(
      Map<String, Object> conf,
      String idPrefix,
      String job,
      long batch,
      String[] parts,
      String topic,
      boolean keyed,
      Map<String, String> addedHeaders) {
    this.conf = new HashMap<>(conf);
    this.idPrefix = idPrefix;
    this.job = job;
    this.batch = batch;
    this.parts = parts;
    this.topic = topic;
    this.keyed = keyed;
    this.addedHeaders = new HashMap<>(addedHeaders);
  }

  /** Writes the part of this task and returns {"rows", "written"} as JSON. */
  @Override
  public String apply(TaskContext context, Iterator<InternalRow> rows) {
    String part = parts[context.partitionId()];
    PartProgress progress = new PartProgress(job);
    PooledProducer pooled = null;
    boolean succeeded = false;
    try {
      long written = 0;
      if (rows.hasNext()) {
        pooled = ProducerPool.take(idPrefix + part, conf, progress);
        if (pooled.newestBatch() > batch)
          throw new IllegalStateException("newest: " + pooled.newestBatch());
        if (pooled.newestBatch() < batch) written = write(pooled, rows, progress);
      }
      progress.setReading(true);
      String report = report(written, drain(rows));
      succeeded = true;
      return report;
    } catch (Exception e) {
      Platform.throwException(failure(part, progress, e));
      return null;
    } finally {
      // In an interrupted thread, `close` would not wait for the rollback of the transaction.
      boolean interrupted = Thread.interrupted();
      if (pooled != null && succeeded) ProducerPool.giveBack(pooled);
      if (pooled != null && !succeeded) pooled.close();
      if (interrupted) Thread.currentThread().interrupt();
    }
  }

  /** Reads the remaining rows and returns their number. */
  private static long drain(Iterator<InternalRow> rows) {
    long count = 0;
    while (rows.hasNext()) {
      rows.next();
      count++;
    }
    return count;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the commit fails when a message could not be sent
  private long write(PooledProducer pooled, Iterator<InternalRow> rows, PartProgress progress)
      throws Exception {
    var producer = pooled.producer();
    String markedTopic = null;
    long count = 0;
    progress.reached("begin");
    producer.beginTransaction();
    progress.reached("begun");
    while (true) {
      progress.setReading(true);
      if (!rows.hasNext()) break;
      InternalRow row = rows.next();
      progress.setReading(false);
      ProducerRecord<byte[], byte[]> message = message(row);
      if (markedTopic == null) markedTopic = topic == null ? message.topic() : topic;
      producer.send(message);
      count++;
    }
    // A fenced producer fails here. Without the flush, the next call would fail only after a
    // minute.
    producer.flush();
    progress.reached("sent");
    var mark =
        Collections.singletonMap(
            new TopicPartition(markedTopic, 0), new OffsetAndMetadata(batch + 1L));
    producer.sendOffsetsToTransaction(mark, new ConsumerGroupMetadata(pooled.id()));
    progress.reached("marked");
    producer.commitTransaction();
    pooled.setNewestBatch(batch);
    progress.reached("committed");
    return count;
  }

  private ProducerRecord<byte[], byte[]> message(InternalRow row) {
    String target = row.isNullAt(TOPIC) ? topic : row.getUTF8String(TOPIC).toString();
    if (target == null) throw new IllegalStateException("no topic");
    if (keyed && row.isNullAt(KEY)) throw new IllegalStateException("no key");
    Integer partition = row.isNullAt(PARTITION) ? null : Integer.valueOf(row.getInt(PARTITION));
    byte[] key = row.isNullAt(KEY) ? null : row.getBinary(KEY);
    byte[] value = row.isNullAt(VALUE) ? null : row.getBinary(VALUE);
    var message = new ProducerRecord<>(target, partition, key, value);
    addHeaders(row, message.headers());
    return message;
  }

  private void addHeaders(InternalRow row, Headers headers) {
    if (!row.isNullAt(HEADERS)) {
      ArrayData rowHeaders = row.getArray(HEADERS);
      for (int i = 0; i < rowHeaders.numElements(); i++) {
        InternalRow header = rowHeaders.getStruct(i, 2);
        headers.add(
            header.getUTF8String(0).toString(), header.isNullAt(1) ? null : header.getBinary(1));
      }
    }
    addedHeaders.forEach((name, text) -> headers.add(name, text.getBytes(StandardCharsets.UTF_8)));
  }

  private static String report(long written, long skipped) {
    ObjectNode report = JsonNodeFactory.instance.objectNode();
    report.put("rows", written + skipped);
    report.put("written", written);
    return report.toString();
  }

  /**
   * Returns an error with details that Kafka's errors do not contain: the part, the last step, and
   * the duration.
   */
  private Exception failure(String part, PartProgress progress, Exception error) {
    if (progress.isReading()) return error;
    Throwable inner = error;
    while (inner.getCause() != null && inner.getClass() == KafkaException.class)
      inner = inner.getCause();
    ObjectNode report = JsonNodeFactory.instance.objectNode();
    report.put("part", part);
    report.put("batch", batch);
    report.put("step", progress.step());
    report.put("seconds", progress.seconds());
    report.put("paused", progress.pausedSeconds());
    report.put("class", inner.getClass().getName());
    report.put("message", String.valueOf(inner.getMessage()));
    return new IllegalStateException("JetSQL Kafka part: " + report, error);
  }
}
