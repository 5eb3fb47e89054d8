package dev.jetsql.common;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The origins of statements, by which the engine (Python) knows their callers. Spark's endpoints
 * report the clients of their sessions here. The engine runs the statements of its own clients in
 * job groups, also those inside a script or EXECUTE IMMEDIATE, and knows the caller of each group.
 */
public final class Callers {
  static final String GROUP = "spark.jobGroup.id";
  static final String OWN_GROUPS = "jetsql-";

  /** The origin of a statement in a session without a client: a program in the engine's process. */
  private static final String PROGRAM = "spark.sql ";

  private static final Map<SparkSession, String> clients =
      Collections.synchronizedMap(new WeakHashMap<>());

  private Callers() {}

  /**
   * Notes the client of a session.
   *
   * @param endpoint a word of `Endpoint` in Python
   * @param address the IP address of the client; null if it is not known
   */
  public static void put(SparkSession session, String endpoint, String address) {
    clients.put(session, endpoint + " " + Objects.requireNonNullElse(address, ""));
  }

  /** Notes the client of a session. */
  public static void put(SparkSession session, String endpoint, SocketAddress client) {
    var address = client instanceof InetSocketAddress internet ? internet.getAddress() : null;
    put(session, endpoint, address == null ? null : address.getHostAddress());
  }

  /**
   * Returns the origin of the statement that this thread runs: its endpoint, or its job group, a
   * blank, and an address, which can be empty.
   *
   * @param session its session, or null
   */
  static String origin(SparkSession session) {
    if (session == null) return PROGRAM;
    var client = clients.get(session);
    if (client != null) return client;
    var group = session.sparkContext().getLocalProperty(GROUP);
    return group != null && group.startsWith(OWN_GROUPS) ? group + " " : PROGRAM;
  }

  /** Returns whether a session is one of a client of Spark's endpoints. */
  public static boolean isClient(SparkSession session) {
    return clients.containsKey(session);
  }

  /** Returns a session; for anything else, the active one of the thread, or null. */
  static SparkSession session(Object session) {
    if (session instanceof SparkSession given) return given;
    var active = org.apache.spark.sql.SparkSession.getActiveSession();
    return active.isDefined() ? (SparkSession) active.get() : null;
  }
}
