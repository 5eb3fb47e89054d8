package dev.jetsql;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** What a session knows, and how one that is in use already gets a new parser. */
public class Sessions {

  /** The explicit confs of a session as JSON, by name. */
  static String confs(SparkSession session) throws Exception {
    return Extension.JSON.writeValueAsString(CollectionConverters.asJava(session.sessionState().conf().getAllConfs()));
  }

  /** The names of a session's temporary functions as JSON. */
  static String temporaryFunctions(SparkSession session) throws Exception {
    List names = new ArrayList();
    Iterator each = session.sessionState().catalog().listTemporaryFunctions().iterator();
    while (each.hasNext()) names.add(((FunctionIdentifier) each.next()).funcName());
    return Extension.JSON.writeValueAsString(names);
  }

  /**
   * A session that was used has built its parser. Its state is cloned, which builds a new one through the extensions
   * and keeps temporary views, functions, settings and the current schema, and the clone takes the state's place.
   */
  static void renewState(SparkSession session) throws Exception {
    SessionState renewed = session.sessionState().clone(session);
    Field field = SparkSession.class.getDeclaredField("sessionState");
    field.setAccessible(true);
    field.set(session, renewed);
  }
}
