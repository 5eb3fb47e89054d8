package dev.jetsql.common;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * The functions of the open engine (Python) that Java calls: the fields of `EngineCallbacks` in
 * Python. A request has their arguments by name, and each comment says "request: response".
 */
public enum EngineCallback {
  /** {"text"}: {"columns": DDL}; null for a statement of Spark. */
  DESCRIBE,
  /** {"text"}: {"columns": DDL, "rows": [[...]]}. */
  EXECUTE,
  /** {"text", "values"}: the text of the statement with values; null for a statement of Spark. */
  BIND,
  /** {"text", "values": their number}: null, or an error if the markers are more or fewer. */
  CHECK_NUMBER,
  /** {"name"} of a relation: [[...]]. */
  ROWS,
  /** {"table", "operation": "read" or "write", "options"}: null, or the error of the topic. */
  CHECK_TOPIC,
  /**
   * {"action": the verb, "schema": names from the catalog on, "table": null for all of the schema}:
   * the reason why running jobs forbid the change, or "".
   */
  REFUSE_CHANGE,
  /**
   * {"change": "created", "dropped" or "renamed", "kind": "TABLE" (also a view), "SCHEMA" or
   * "FUNCTION", "name": from the catalog on, "new_name": the same, or null}: null.
   */
  CHANGE_OBJECT,
  /** {"schema", "name", "if_exists"}: null. */
  DROP_FUNCTION,
  /** {"job": a name or an id}: {"job", "path", "batch", "confs"}. */
  FIND_STATE,
  /**
   * {"endpoint": a word of `Endpoint` in Python, "name": the user whom the client names at its
   * login; null if each of its messages names the user, "token", "address"} of a client of Spark's
   * endpoints: the fields of `Login`.
   */
  LOG_IN,
  /**
   * {"event": "secret read" or "connection use", "name": a reference to a secret, or the name of
   * the connection, "purpose": a phrase, or "", "user": of the session, or null, "job": the id, or
   * "", "owner": of the job, "condition": of the error, or ""}: null.
   */
  AUDIT_SECRET,
  /** {"statement": its key} of a client of Spark's endpoints: null, or the refusal. */
  AUDIT_BEGIN,
  /**
   * A statement of a client of Spark's endpoints at its end: {"caller": fields of `Caller`,
   * "session", "statement", "text", "millis", "rows": null if they were not counted, "error": null
   * or the message, "is_cancelled", "objects": [[right, name, whether it is allowed]]}: null.
   */
  AUDIT;

  private static final AtomicLong lastNumber = new AtomicLong();
  private static volatile EngineFunctions engine;

  /** Connects the functions of an engine; null disconnects them. */
  public static void connect(EngineFunctions functions) {
    engine = functions;
  }

  /** Returns whether an engine is open. */
  public static boolean isConnected() {
    return engine != null;
  }

  /**
   * Calls the function, and returns its response; null for none. An interrupt takes effect after
   * the call. Throws the error of the function, and another one without an open engine.
   *
   * @param session the session of the statement; if it is null, the active one of the thread
   */
  public JsonNode ask(Object session, Map<String, ?> request) {
    return ask(session, request, null);
  }

  /** Does the same. An error without a position gets the one of a node in the statement. */
  public JsonNode ask(Object session, Map<String, ?> request, Origin origin) {
    return call(connected(), null, session, request, origin);
  }

  /** Does the same, but an interrupt cancels the statement. */
  public JsonNode run(Object session, Map<String, ?> request) {
    return call(connected(), Long.toString(lastNumber.incrementAndGet()), session, request, null);
  }

  private JsonNode call(
      EngineFunctions functions,
      String number,
      Object session,
      Map<String, ?> request,
      Origin position) {
    var own = Callers.session(session);
    var principal = own == null ? null : Principals.of(own);
    var user = Principals.SYSTEM.equals(principal) ? null : principal;
    var origin = Callers.origin(own);
    var name = name().toLowerCase(Locale.ROOT);
    var text = Json.write(request);
    var response =
        PythonCalls.await(
            () -> functions.call(name, number, session, user, origin, text),
            number == null ? null : () -> functions.cancel(number));
    return PythonResponses.of(response, position);
  }

  private static EngineFunctions connected() {
    var functions = engine;
    if (functions == null) throw Exceptions.raise(JetSqlException.closed());
    return functions;
  }
}
