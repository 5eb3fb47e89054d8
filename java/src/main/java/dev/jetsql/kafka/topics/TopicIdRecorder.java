package dev.jetsql.kafka.topics;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;
import scala.Option;

/**
 * Records the ids in the descriptions of topics that a source requests. Spark's source describes
 * its topics before it asks for their newest offsets, at each trigger, and reads only their
 * partitions. So the ids cost no request. A proxy of the source's admin client records them.
 */
final class TopicIdRecorder implements InvocationHandler {
  private static final int TIMEOUT_MILLIS = 5000;

  private final Admin client;
  private final Map<String, String> ids = new ConcurrentHashMap<>();
  private volatile boolean hasDescriptions;
  private volatile long recorded;

  private TopicIdRecorder(Admin client) {
    this.client = client;
  }

  /** Returns the recorder of a source, or null if it has none or replaced its client. */
  static TopicIdRecorder find(KafkaOffsetReaderAdmin source) {
    Admin current = source._admin();
    if (current == null || !Proxy.isProxyClass(current.getClass())) return null;
    return Proxy.getInvocationHandler(current) instanceof TopicIdRecorder recorder
        ? recorder
        : null;
  }

  /** Gives a source a new recorder. Opens its client if `opens` is true; otherwise returns null. */
  static TopicIdRecorder install(KafkaOffsetReaderAdmin source, boolean opens) {
    Admin current = opens ? source.admin() : source._admin();
    if (current == null) return null;
    var recorder = new TopicIdRecorder(current);
    Object proxy =
        Proxy.newProxyInstance(
            Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, recorder);
    source._admin_$eq((Admin) proxy);
    return recorder;
  }

  /** Lets the source describe its topics now. Throws the errors of Kafka's client. */
  static void describeAll(KafkaOffsetReaderAdmin source) {
    source.fetchLatestOffsets(Option.empty());
  }

  /**
   * Returns whether topics were described since the source has this recorder. It may have received
   * it after the descriptions for the running batch.
   */
  boolean hasDescriptions() {
    return hasDescriptions;
  }

  /** Returns the newest known ids by topic. */
  Map<String, String> ids() {
    return ids;
  }

  /** Describes the known topics again if the ids are older. Throws the errors of Kafka's client. */
  void refresh(long maxAgeMillis)
      throws ExecutionException, InterruptedException, TimeoutException {
    long age = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - recorded);
    if (ids.isEmpty() || age < maxAgeMillis) return;
    Set<String> known = Set.copyOf(ids.keySet());
    record(client.describeTopics(known, new DescribeTopicsOptions().timeoutMs(TIMEOUT_MILLIS)))
        .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().equals("equals")) return proxy == arguments[0];
    try {
      Object result = method.invoke(client, arguments);
      if (result instanceof DescribeTopicsResult descriptions) {
        var unused = record(descriptions); // the ids are recorded when they arrive
      }
      return result;
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /** Records the ids when they arrive. Returns a future of all of them. */
  private KafkaFuture<Void> record(DescribeTopicsResult descriptions) {
    recorded = System.nanoTime();
    hasDescriptions = true;
    KafkaFuture<?>[] futures =
        descriptions.topicNameValues().values().stream()
            .map(future -> future.whenComplete(this::put))
            .toArray(KafkaFuture<?>[]::new);
    return KafkaFuture.allOf(futures);
  }

  private void put(TopicDescription topic, Throwable error) {
    if (error == null && TopicReader.isKnown(topic.topicId()))
      ids.put(topic.name(), topic.topicId().toString());
  }
}
