package dev.jetsql.sql;

import dev.jetsql.common.Json;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/** What a session knows, and how one that is in use already gets a new parser. */
public class Sessions {

  /** The explicit confs of a session as JSON, by name. */
  static String confs(SparkSession session) throws Exception {
    return Json.MAPPER.writeValueAsString(CollectionConverters.asJava(session.sessionState().conf().getAllConfs()));
  }

  /** The names of a session's temporary functions as JSON. */
  static String temporaryFunctions(SparkSession session) throws Exception {
    List names = new ArrayList();
    Iterator each = session.sessionState().catalog().listTemporaryFunctions().iterator();
    while (each.hasNext()) names.add(((FunctionIdentifier) each.next()).funcName());
    return Json.MAPPER.writeValueAsString(names);
  }

  /**
   * A session that was used has built its parser. Its state is cloned, which builds a new one through the extensions
   * and keeps temporary views, functions and the current schema; the clone takes the state's place. What others may
   * hold on to is carried over as it is: the settings, the running queries with their listeners, added artifacts.
   */
  static void renewState(SparkSession session) throws Exception {
    SessionState old = session.sessionState();
    SessionState renewed = old.clone(session);
    set(SessionState.class, renewed, "conf", old.conf());
    set(SessionState.class, renewed, "listenerManager", old.listenerManager());
    set(SessionState.class, renewed, "streamingQueryManagerBuilder", new Constant(old.streamingQueryManager()));
    set(SessionState.class, renewed, "artifactManagerBuilder", new Constant(old.artifactManager()));
    set(SparkSession.class, session, "sessionState", renewed);
  }

  private static void set(Class type, Object owner, String name, Object value) throws Exception {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    field.set(owner, value);
  }

  static class Constant extends AbstractFunction0 {
    private final Object value;

    Constant(Object value) { this.value = value; }

    public Object apply() { return value; }
  }
}
