package dev.jetsql.common;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.Option;

/**
 * The users of Spark's sessions. The endpoint that makes a session sets its user. No statement can
 * change it: a setting could be written with SET.
 *
 * <p>When a home has users, a session without one may do nothing.
 */
public final class Principals {
  /** The user of the engine's own sessions, which may do everything. */
  public static final String SYSTEM = "system";

  /** The user who knows the engine's token, and a program in the engine's process. */
  public static final String OWNER = "owner";

  private static final Map<SparkSession, String> users =
      Collections.synchronizedMap(new WeakHashMap<>()); // by identity: sessions have no `equals`
  private static final Map<SessionState, String> usersOfStates =
      Collections.synchronizedMap(new WeakHashMap<>());

  private Principals() {}

  /** Sets the user of a session, and of the copies that Spark makes of it later. */
  public static void set(SparkSession session, String user) {
    users.put(session, user);
    usersOfStates.put(session.sessionState(), user);
  }

  /** Returns whether a user is not one of CREATE USER, and may do everything. */
  public static boolean isBuiltIn(String user) {
    return user.equals(SYSTEM) || user.equals(OWNER);
  }

  /** Makes a session one of the engine itself, which may do everything. */
  public static void setSystem(SparkSession session) {
    set(session, SYSTEM);
  }

  /**
   * Returns a session with the settings, schema and temporary views of another one, for a user.
   * Python calls it to check the body of a job as the owner of the job.
   */
  public static SparkSession copyFor(SparkSession session, String user) {
    var copy = session.cloneSession();
    set(copy, user);
    return copy;
  }

  /**
   * Returns the user of a session, or null if it has none. The user of a copy is that of its
   * original: Spark copies sessions for streaming queries and for cached tables.
   */
  public static String of(SparkSession session) {
    var user = users.get(session);
    if (user != null) return user;
    var original = original(session);
    var inherited = original == null ? null : usersOfStates.get(original);
    if (inherited != null) set(session, inherited);
    return inherited;
  }

  private static SessionState original(SparkSession session) {
    try {
      var state =
          (Option<?>) Reflection.field(SparkSession.class, "parentSessionState").get(session);
      return state.isDefined() ? (SessionState) state.get() : null;
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }
}
