package dev.jetsql.kafka;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.function.Supplier;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Ends queries that ask Kafka something. A query that is interrupted closes the client by which its sources ask, and that
 * waits until each question is answered or its time is up: a minute for each, while the broker is away.
 *
 * The connector is asked by reflection: it comes later than this is compiled.
 */
public class KafkaQuestions implements Runnable {
  private static final String SOURCE = "org.apache.spark.sql.kafka010.KafkaMicroBatchStream";
  private static final String READER = "org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin";
  private static final String CLIENT = "org.apache.kafka.clients.admin.Admin";
  private static final long HEARD_MILLIS = 200;

  private final StreamExecution query;

  private KafkaQuestions(StreamExecution query) { this.query = query; }

  /** Interrupt a query, as Spark does it, and wait for its end; what it asks Kafka is given up. */
  public static void end(StreamingQuery query) throws Exception {
    Thread helper = new Thread(new KafkaQuestions(((StreamingQueryWrapper) query).streamingQuery()), "jetsql-kafka-questions");
    helper.setDaemon(true);
    helper.start();
    try {
      query.stop();
    } finally {
      helper.interrupt();
    }
  }

  /** Again and again: a client that was closed before the query had heard of its interrupt is followed by another one. */
  public void run() {
    try {
      while (true) {
        query.queryExecutionThread().join(HEARD_MILLIS);
        if (!query.queryExecutionThread().isAlive()) return;
        giveUp();
      }
    } catch (InterruptedException e) {
      return;  // Spark waits no longer
    } catch (Exception e) {
      LoggerFactory.getLogger(KafkaQuestions.class).warn("A query may take a minute to end", e);
    }
  }

  private void giveUp() throws Exception {
    Seq sources = query.sources();
    if (sources == null) return;
    Iterator each = sources.iterator();
    while (each.hasNext()) {
      Object client = client(real(each.next()));
      if (client == null) continue;
      Class type = Class.forName(CLIENT, true, client.getClass().getClassLoader());
      type.getMethod("close", new Class[] {Duration.class}).invoke(client, new Object[] {Duration.ZERO});
    }
  }

  /** The source behind one that stands for it, see `EarlyEndingSources`. */
  private static Object real(Object source) {
    InvocationHandler link = Proxy.isProxyClass(source.getClass()) ? Proxy.getInvocationHandler(source) : null;
    return link instanceof Supplier ? ((Supplier) link).get() : source;
  }

  /** By which a source asks; null when it is none of Kafka's, or has asked nothing yet. */
  private static Object client(Object source) throws Exception {
    if (!source.getClass().getName().equals(SOURCE)) return null;
    Object reader = source.getClass().getMethod("kafkaOffsetReader", new Class[0]).invoke(source, new Object[0]);
    if (!reader.getClass().getName().equals(READER)) return null;
    return reader.getClass().getMethod("_admin", new Class[0]).invoke(reader, new Object[0]);
  }
}
