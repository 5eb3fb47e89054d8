package dev.jetsql.kafka;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Stops streaming queries whose Kafka sources may wait for a broker. An interrupted query closes
 * the admin client of its sources, which waits until each request has been answered or has timed
 * out: one minute for each if the broker is unreachable.
 */
public final class KafkaQueryStop {
  private static final String KAFKA_SOURCE = "org.apache.spark.sql.kafka010.KafkaMicroBatchStream";
  private static final long CHECK_MILLIS = 200;

  private KafkaQueryStop() {}

  /**
   * Interrupts a query as Spark does and waits for its end. Meanwhile cancels its requests to
   * Kafka.
   */
  public static void stop(StreamingQuery query) throws Exception {
    StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
    Thread helper = new Thread(() -> cancelUntilEnded(execution), "jetsql-kafka-query-stop");
    helper.setDaemon(true);
    helper.start();
    try {
      query.stop();
    } finally {
      helper.interrupt();
    }
  }

  /**
   * Cancels repeatedly: a query that has not received its interrupt yet replaces a closed client by
   * a new one.
   */
  private static void cancelUntilEnded(StreamExecution query) {
    try {
      while (true) {
        query.queryExecutionThread().join(CHECK_MILLIS);
        if (!query.queryExecutionThread().isAlive()) return;
        cancelRequests(query);
      }
    } catch (InterruptedException e) {
      // `query.stop` has returned.
    } catch (Exception e) {
      LoggerFactory.getLogger(KafkaQueryStop.class)
          .warn("Cannot cancel the Kafka requests of a query; it may take a minute to end", e);
    }
  }

  private static void cancelRequests(StreamExecution query) {
    kafkaSources(query).values().forEach(KafkaSource::closeClient);
  }

  /**
   * Returns the Kafka sources of a query by their numbers; none before it has planned its sources.
   */
  public static Map<Integer, Object> kafkaSources(StreamExecution query) {
    Map<Integer, Object> found = new TreeMap<>();
    if (query.sources() == null) return found;
    int number = 0;
    for (Object source : CollectionConverters.asJava(query.sources())) {
      Object target = unwrapProxy(source);
      // Compare names, because the connector's classes may not be loaded.
      if (target.getClass().getName().equals(KAFKA_SOURCE)) found.put(number, target);
      number++;
    }
    return found;
  }

  /**
   * Returns the source that a proxy of `EarlyEndingSources` wraps, or any other source unchanged.
   */
  private static Object unwrapProxy(Object source) {
    InvocationHandler handler =
        Proxy.isProxyClass(source.getClass()) ? Proxy.getInvocationHandler(source) : null;
    return handler instanceof Supplier<?> link ? link.get() : source;
  }

  /** The code that needs the connector's classes. */
  private static final class KafkaSource {
    static void closeClient(Object source) {
      if (!(((KafkaMicroBatchStream) source).kafkaOffsetReader()
          instanceof KafkaOffsetReaderAdmin reader)) return;
      Admin client = reader._admin();
      if (client != null) client.close(Duration.ZERO);
    }
  }
}
