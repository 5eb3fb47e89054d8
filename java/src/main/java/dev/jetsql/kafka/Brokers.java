package dev.jetsql.kafka;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClientConfig;

/** What a connection for questions needs of a producer's settings. */
class Brokers {
  static Map adminConf(Map conf) {
    Map own = new HashMap();
    Set known = AdminClientConfig.configNames();
    Iterator each = conf.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (known.contains(entry.getKey())) own.put(entry.getKey(), entry.getValue());
    }
    return own;
  }
}
