package dev.jetsql.endpoints;

import dev.jetsql.common.Json;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The logins that are not valid any more: their token has expired or was dropped, or their user was
 * disabled or dropped. The engine (Python) knows when, and ends them here with all that they run.
 */
public final class EndedLogins {
  /** The condition and the SQLSTATE of what a client gets afterwards. */
  static final String CONDITION = "JETSQL.LOGIN_ENDED";

  static final String STATE = "28000";
  private static final int MOST = 10_000;

  private static final Map<String, Ended> ended =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Ended> eldest) {
          return size() > MOST;
        }
      };

  private EndedLogins() {}

  /**
   * The end of a login.
   *
   * @param nanos when it was, by the clock of `System.nanoTime`
   */
  private record Ended(String message, long nanos) {}

  /**
   * Ends logins.
   *
   * @param logins a JSON object of their keys and the reasons, which are sentences
   */
  public static void end(String logins) throws InterruptedException {
    var messages = new HashMap<String, String>();
    Json.readObject(logins)
        .properties()
        .forEach(
            each ->
                messages.put(
                    each.getKey(),
                    "[" + CONDITION + "] " + each.getValue().textValue() + " Log in again."));
    // A session of Hive leaves its class loader, which is closed, to the thread that closes it.
    var thread = new Thread(() -> messages.forEach(EndedLogins::end), "ended-logins");
    thread.setDaemon(true);
    thread.start();
    thread.join();
  }

  private static void end(String login, String message) {
    synchronized (ended) {
      ended.remove(login);
      ended.put(login, new Ended(message, System.nanoTime()));
    }
    ThriftClient.end(login, message);
    ConnectCalls.end(login, message);
  }

  /** Returns the message for a login that has ended since a time; null if it has not. */
  static String since(String login, long nanos) {
    synchronized (ended) {
      var end = ended.get(login);
      return end != null && end.nanos() - nanos >= 0 ? end.message() : null;
    }
  }
}
