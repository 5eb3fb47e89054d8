package dev.jetsql.kafka.transactions;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AdminClientConfig;

/**
 * Creates admin clients from the settings of a producer, without the settings that an admin client
 * does not have.
 */
final class AdminClients {
  private AdminClients() {}

  static AdminClient create(Map<String, Object> producerConf) {
    return AdminClient.create(adminConf(producerConf));
  }

  /** Returns a client whose requests fail after a timeout. */
  static AdminClient create(Map<String, Object> producerConf, long timeoutMillis) {
    Map<String, Object> conf = adminConf(producerConf);
    conf.put("default.api.timeout.ms", String.valueOf(timeoutMillis));
    conf.put("request.timeout.ms", String.valueOf(timeoutMillis));
    return AdminClient.create(conf);
  }

  private static Map<String, Object> adminConf(Map<String, Object> producerConf) {
    Map<String, Object> conf = new HashMap<>(producerConf);
    conf.keySet().retainAll(AdminClientConfig.configNames());
    return conf;
  }
}
