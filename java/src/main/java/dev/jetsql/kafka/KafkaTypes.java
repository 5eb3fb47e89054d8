package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import java.lang.reflect.InvocationTargetException;
import java.util.Map;

/**
 * What Kafka's clients take as values of their options. They show a value that they refuse, so one that comes from a
 * secret is tried here first.
 *
 * Kafka's classes are asked by reflection: the connector comes later than this is compiled.
 */
class KafkaTypes {
  private static final String KAFKA = "org.apache.kafka.";
  private static final String[] CLIENTS = {"clients.consumer.ConsumerConfig", "clients.producer.ProducerConfig",
      "clients.admin.AdminClientConfig"};

  /** Return the type that a client wants an option to have and that the value has not; null when all take the value. */
  static String refusing(String option, String value) {
    try {
      for (int i = 0; i < CLIENTS.length; i++) {
        Object client = named(CLIENTS[i]).getMethod("configDef", new Class[0]).invoke(null, new Object[0]);
        Map keys = (Map) client.getClass().getMethod("configKeys", new Class[0]).invoke(client, new Object[0]);
        Object key = keys.get(option);
        if (key != null && !takes(client.getClass(), key, option, value)) return String.valueOf(field(key, "type"));
      }
      return null;
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static boolean takes(Class definitions, Object key, String option, String value) throws Exception {
    Object type = field(key, "type");
    Object validator = field(key, "validator");
    Class[] parse = {String.class, Object.class, named("common.config.ConfigDef$Type")};
    Class[] validate = {String.class, Object.class};
    try {
      Object parsed = definitions.getMethod("parseType", parse).invoke(null, new Object[] {option, value, type});
      if (validator == null) return true;
      named("common.config.ConfigDef$Validator").getMethod("ensureValid", validate)
          .invoke(validator, new Object[] {option, parsed});
      return true;
    } catch (InvocationTargetException e) {
      return false;
    }
  }

  private static Object field(Object key, String name) throws Exception { return key.getClass().getField(name).get(key); }

  private static Class named(String name) throws Exception {
    return Class.forName(KAFKA + name, true, KafkaTypes.class.getClassLoader());
  }
}
