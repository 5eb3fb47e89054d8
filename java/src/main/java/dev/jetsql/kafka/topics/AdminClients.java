package dev.jetsql.kafka.topics;

import com.fasterxml.jackson.core.type.TypeReference;
import dev.jetsql.common.Json;
import java.util.HashMap;
import org.apache.kafka.clients.admin.AdminClient;

/** Opens the admin clients of Kafka. Python uses them after the connector is loaded. */
final class AdminClients {
  private static final TypeReference<HashMap<String, Object>> SETTINGS = new TypeReference<>() {};

  private AdminClients() {}

  /** Returns a client of a cluster. conf: the settings of the client as JSON */
  static AdminClient open(String conf) throws Exception {
    return AdminClient.create(Json.MAPPER.readValue(conf, SETTINGS));
  }
}
