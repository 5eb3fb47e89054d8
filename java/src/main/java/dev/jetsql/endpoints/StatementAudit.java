package dev.jetsql.endpoints;

import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.StatementObjects;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.apache.spark.connect.proto.ExecutePlanRequest;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connect.service.SparkListenerConnectOperationCanceled;
import org.apache.spark.sql.connect.service.SparkListenerConnectOperationClosed;
import org.apache.spark.sql.connect.service.SparkListenerConnectOperationFailed;
import org.apache.spark.sql.connect.service.SparkListenerConnectOperationFinished;
import org.apache.spark.sql.connect.service.SparkListenerConnectOperationStarted;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationCanceled;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationClosed;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationError;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationFinish;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationTimeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.reflect.ClassTag$;

/**
 * Reports each statement of Thrift and Spark Connect to the engine when it has ended, from Spark's
 * events. It has a queue of its own among Spark's listeners, so no other one delays it.
 */
public final class StatementAudit extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(StatementAudit.class);
  private static final String QUEUE = "audit";
  private static final int RUNNING = 10_000;
  private static final int TEXT = 20_000; // more than the audit log shows
  private static final Pattern SCRIPT = Pattern.compile("(?i)\\bBEGIN\\b");

  private final Map<String, Running> running =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Running> eldest) {
          return size() > RUNNING;
        }
      };

  private StatementAudit() {}

  /**
   * A statement whose end is not known.
   *
   * @param analyzes whether it only analyzes a query, if it is one, which the client then runs
   */
  private record Running(
      AuditedClients.Client client,
      String program,
      String session,
      String text,
      long begun,
      boolean analyzes) {}

  /** Begins to report statements; further calls for the same Spark have no effect. */
  public static synchronized void connect(SparkSession session, boolean isOn, boolean isRequired) {
    StatementObjects.enable(isOn);
    AuditGate.require(isRequired);
    var bus = session.sparkContext().listenerBus();
    if (isOn && bus.findListenersByClass(ClassTag$.MODULE$.apply(StatementAudit.class)).isEmpty())
      bus.addToQueue(new StatementAudit(), QUEUE);
  }

  /** Waits until the statements that have ended so far are reported. */
  public static void flush(SparkSession session, long millis) {
    try {
      session.sparkContext().listenerBus().waitUntilEmpty(millis);
    } catch (TimeoutException e) {
      LOG.warn("Statements that have just ended are missing in the audit log", e);
    }
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerThriftServerOperationStart started) begin(started);
    else if (event instanceof SparkListenerThriftServerOperationFinish ended)
      end(ended.id(), ended.finishTime(), null, null, false);
    else if (event instanceof SparkListenerThriftServerOperationError failed)
      end(failed.id(), failed.finishTime(), null, failed.errorMsg(), false);
    else if (event instanceof SparkListenerThriftServerOperationCanceled cancelled)
      end(cancelled.id(), cancelled.finishTime(), null, null, true);
    else if (event instanceof SparkListenerThriftServerOperationTimeout cancelled)
      end(cancelled.id(), cancelled.finishTime(), null, null, true);
    else if (event instanceof SparkListenerThriftServerOperationClosed closed)
      end(closed.id(), closed.closeTime(), null, null, true);
    else if (event instanceof SparkListenerConnectOperationStarted started) begin(started);
    else if (event instanceof SparkListenerConnectOperationFinished ended)
      end(
          ended.jobTag(),
          ended.eventTime(),
          ended.producedRowCount().isDefined() ? (Long) ended.producedRowCount().get() : null,
          null,
          false);
    else if (event instanceof SparkListenerConnectOperationFailed failed)
      end(failed.jobTag(), failed.eventTime(), null, failed.errorMessage(), false);
    else if (event instanceof SparkListenerConnectOperationCanceled cancelled)
      end(cancelled.jobTag(), cancelled.eventTime(), null, null, true);
    else if (event instanceof SparkListenerConnectOperationClosed closed)
      end(closed.jobTag(), closed.eventTime(), null, null, true);
  }

  private void begin(SparkListenerThriftServerOperationStart started) {
    var client = AuditedClients.of(started.sessionId(), "thrift");
    running.put(
        started.id(),
        new Running(
            client,
            "",
            started.sessionId(),
            limited(started.statement()),
            started.startTime(),
            false));
  }

  private void begin(SparkListenerConnectOperationStarted started) {
    var client =
        AuditedClients.of(connectSession(started.userId(), started.sessionId()), "connect");
    var request = started.planRequest().isDefined() ? started.planRequest().get() : null;
    running.put(
        started.jobTag(),
        new Running(
            client,
            request == null ? "" : request.getClientType(),
            started.sessionId(),
            request == null ? "" : limited(text(request)),
            started.eventTime(),
            request != null && isSqlCommand(request)));
  }

  /** Returns whether a text can be a script, whose queries run immediately. */
  private static boolean mayBeScript(String text) {
    return text.length() >= TEXT || SCRIPT.matcher(text).find();
  }

  private static String limited(String text) {
    return text.length() > TEXT ? text.substring(0, TEXT) : text;
  }

  /** Returns a key of a session of Spark Connect. */
  static String connectSession(String user, String session) {
    return "connect " + user + " " + session;
  }

  private static boolean isSqlCommand(ExecutePlanRequest request) {
    return request.getPlan().hasCommand() && request.getPlan().getCommand().hasSqlCommand();
  }

  /** Returns the SQL in a request; an empty text for a plan without one. */
  @SuppressWarnings("deprecation") // clients of older Sparks send the text in the old field
  private static String text(ExecutePlanRequest request) {
    if (isSqlCommand(request)) {
      var command = request.getPlan().getCommand().getSqlCommand();
      return command.getInput().hasSql()
          ? command.getInput().getSql().getQuery()
          : command.getSql();
    }
    var root = request.getPlan().getRoot();
    return root.hasSql() ? root.getSql().getQuery() : "";
  }

  /** Reports the end of a statement. Spark sends further events about one that has ended. */
  private void end(String key, long time, Long rows, String error, boolean isCancelled) {
    var statement = running.remove(key);
    var noted = StatementObjects.taken(key);
    if (statement == null) return;
    var hasFailed = error != null || isCancelled;
    if (statement.analyzes && !noted.runsCommand() && !hasFailed && !mayBeScript(statement.text))
      return;
    var request = new HashMap<String, Object>();
    request.put("caller", statement.client.caller(statement.program));
    request.put("session", statement.session);
    request.put("statement", key);
    request.put("text", statement.text);
    request.put("millis", time - statement.begun);
    request.put("rows", rows);
    request.put("error", error);
    request.put("is_cancelled", isCancelled);
    request.put("objects", noted.objects());
    if (EngineCallback.isConnected()) EngineCallback.AUDIT.ask(null, request);
  }
}
