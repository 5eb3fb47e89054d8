package dev.jetsql.endpoints;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The clients of the sessions of Thrift and Spark Connect, for the audit log: Spark's events name
 * sessions only by their ids.
 */
final class AuditedClients {
  private static final int MOST = 10_000;
  private static final Map<String, Client> clients =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Client> eldest) {
          return size() > MOST;
        }
      };

  private AuditedClients() {}

  /**
   * A client.
   *
   * @param endpoint a word of `Endpoint` in Python
   * @param token the id of the token that it has sent
   */
  record Client(String user, String endpoint, String address, String token) {
    /** Returns the fields of `Caller` in Python. */
    List<String> caller(String program) {
      return List.of(user, endpoint, address, token, program);
    }
  }

  static void put(String session, Client client) {
    synchronized (clients) {
      clients.put(session, client);
    }
  }

  /** Returns the client of a session; one without a name if it is not known any more. */
  static Client of(String session, String endpoint) {
    synchronized (clients) {
      return clients.getOrDefault(session, new Client("", endpoint, "", ""));
    }
  }
}
