package dev.jetsql.catalog;

import dev.jetsql.common.Json;
import dev.jetsql.common.Reflection;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.Function0;
import scala.jdk.javaapi.CollectionConverters;

/** The settings, temporary functions and plans of a session, and the renewal of its state. */
public final class Sessions {
  private Sessions() {}

  /** Returns the explicit settings of a session as a JSON object. */
  public static String confs(SparkSession session) {
    return Json.write(CollectionConverters.asJava(session.sessionState().conf().getAllConfs()));
  }

  /** Returns the names of a session's temporary functions as a JSON array. */
  public static String temporaryFunctions(SparkSession session) {
    var names = new ArrayList<String>();
    CollectionConverters.asJava(session.sessionState().catalog().listTemporaryFunctions())
        .forEach(function -> names.add(function.funcName()));
    return Json.write(names);
  }

  /** Returns whether SET PATH has changed where a session finds functions and tables. */
  public static boolean hasOwnPath(SparkSession session) {
    return SparkCalls.hasOwnPath(session);
  }

  /** Returns the rows of a plan in a session. */
  public static Dataset<Row> dataset(SparkSession session, LogicalPlan plan) {
    return Dataset.ofRows(session, plan);
  }

  /**
   * Gives a session that has already built its parser a new one. A clone replaces the session's
   * state: cloning builds a new parser with the extensions, and keeps temporary views, functions
   * and the current schema. The clone takes over the objects that other code may reference: the
   * settings, the running queries with their listeners, and added artifacts.
   *
   * <p>The fields are private: Spark builds the state of a session only once, when it is first
   * used.
   */
  public static void renewState(SparkSession session) throws ReflectiveOperationException {
    var old = session.sessionState();
    var renewed = old.clone(session);
    var queries = old.streamingQueryManager();
    var artifacts = old.artifactManager();
    set(SessionState.class, renewed, "conf", old.conf());
    set(SessionState.class, renewed, "listenerManager", old.listenerManager());
    set(
        SessionState.class,
        renewed,
        "streamingQueryManagerBuilder",
        (Function0<Object>) () -> queries);
    set(SessionState.class, renewed, "artifactManagerBuilder", (Function0<Object>) () -> artifacts);
    set(SparkSession.class, session, "sessionState", renewed);
  }

  /** Sets a private field of an object. type: the class that has the field */
  static void set(Class<?> type, Object owner, String name, Object value)
      throws ReflectiveOperationException {
    Reflection.field(type, name).set(owner, value);
  }
}
