package dev.jetsql.sql;

import dev.jetsql.common.Json;
import java.util.ArrayList;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.Function0;
import scala.jdk.javaapi.CollectionConverters;

/** What a session has of its own, and the new parser of a session that has been used. */
public final class Sessions {
  private Sessions() {}

  /** Return the explicit settings of a session as JSON, by name. */
  public static String confs(SparkSession session) {
    return Json.write(CollectionConverters.asJava(session.sessionState().conf().getAllConfs()));
  }

  /** Return the names of a session's temporary functions as JSON. */
  public static String temporaryFunctions(SparkSession session) {
    var names = new ArrayList<String>();
    CollectionConverters.asJava(session.sessionState().catalog().listTemporaryFunctions())
        .forEach(function -> names.add(function.funcName()));
    return Json.write(names);
  }

  /** Return the rows of a plan in a session. */
  public static Dataset<Row> dataset(SparkSession session, LogicalPlan plan) {
    return Dataset.ofRows(session, plan);
  }

  /**
   * Give a session that has been used, and so has built its parser, a new one. Its state is cloned,
   * which builds a new parser through the extensions and keeps temporary views, functions and the
   * current schema; the clone takes the state's place. What others may hold on to is carried over
   * as it is: the settings, the running queries with their listeners, added artifacts.
   */
  static void renewState(SparkSession session) throws ReflectiveOperationException {
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

  private static void set(Class<?> type, Object owner, String name, Object value)
      throws ReflectiveOperationException {
    var field = type.getDeclaredField(name);
    field.setAccessible(true);
    field.set(owner, value);
  }
}
