package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.slf4j.LoggerFactory;

/**
 * How large the batches may be that messages are sent in: no larger than their topic takes. Kafka's client cuts one that
 * is refused into others of `batch.size`, and when that is too much too it goes on so until its time is up.
 *
 * Kafka's own client is asked by reflection: it comes with the connector, later than this is compiled.
 */
class KafkaBatches {
  private static final String ADMIN = "org.apache.kafka.clients.admin.";
  private static final String RESOURCE = "org.apache.kafka.common.config.ConfigResource";
  private static final String SIZE = "kafka.batch.size";
  private static final String KAFKAS_OWN_SIZE = "16384";
  private static final String ASK_MILLIS = "5000";

  /** Lower the size in a writer's options to what the topic takes. A broker that doesn't tell leaves it as it is. */
  static void fit(Map options, String topic) {
    Object name = KafkaTable.find(options, SIZE);
    String given = name == null ? KAFKAS_OWN_SIZE : (String) options.get(name);
    if (!given.matches("[0-9]{1,18}")) return; // who writes next says what is wrong with it
    long largest = largest(topic, options);
    if (Long.parseLong(given) > largest) options.put(name == null ? SIZE : name, String.valueOf(largest));
  }

  private static long largest(String topic, Map options) {
    try {
      return ask(topic, connection(options));
    } catch (InvocationTargetException e) {
      return unknown(topic, e);
    } catch (ExecutionException e) {
      return unknown(topic, e);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  /** Who writes next is told of the error. */
  private static long unknown(String topic, Exception error) {
    LoggerFactory.getLogger(KafkaBatches.class).info("The settings of topic {} are not known: {}", topic,
        String.valueOf(error.getCause()));
    return Long.MAX_VALUE;
  }

  private static Map connection(Map options) {
    Map conf = new HashMap();
    Iterator each = options.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      String name = (String) entry.getKey();
      if (name.toLowerCase(Locale.ROOT).startsWith("kafka.")) conf.put(name.substring(6), entry.getValue());
    }
    conf.put("request.timeout.ms", ASK_MILLIS);
    conf.put("default.api.timeout.ms", ASK_MILLIS);
    return conf;
  }

  private static long ask(String topic, Map conf) throws Exception {
    Class types = kafka(RESOURCE + "$Type");
    Object asked = kafka(RESOURCE).getConstructor(new Class[] {types, String.class})
        .newInstance(new Object[] {types.getField("TOPIC").get(null), topic});
    Object client = kafka(ADMIN + "AdminClient").getMethod("create", new Class[] {Map.class}).invoke(null, new Object[] {conf});
    try {
      Object told = kafka(ADMIN + "Admin").getMethod("describeConfigs", new Class[] {java.util.Collection.class})
          .invoke(client, new Object[] {Collections.singleton(asked)});
      Future all = (Future) kafka(ADMIN + "DescribeConfigsResult").getMethod("all", new Class[0]).invoke(told, new Object[0]);
      Object entry = kafka(ADMIN + "Config").getMethod("get", new Class[] {String.class})
          .invoke(((Map) all.get()).get(asked), new Object[] {"max.message.bytes"});
      return Long.parseLong((String) kafka(ADMIN + "ConfigEntry").getMethod("value", new Class[0]).invoke(entry, new Object[0]));
    } finally {
      kafka(ADMIN + "Admin").getMethod("close", new Class[] {Duration.class}).invoke(client, new Object[] {Duration.ZERO});
    }
  }

  private static Class kafka(String name) throws ClassNotFoundException {
    return Class.forName(name, true, KafkaBatches.class.getClassLoader());
  }
}
