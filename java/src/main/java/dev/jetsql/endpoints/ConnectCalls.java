package dev.jetsql.endpoints;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connect.service.SessionKey;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.sparkproject.connect.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import org.sparkproject.connect.grpc.Metadata;
import org.sparkproject.connect.grpc.ServerCall;
import org.sparkproject.connect.grpc.Status;

/** The open calls and the sessions of Spark Connect, which end with their logins. */
final class ConnectCalls {
  private static final Map<Open<?, ?>, String> calls = new WeakHashMap<>(); // by login
  private static final Map<SparkSession, Session> sessions = new WeakHashMap<>();

  private ConnectCalls() {}

  /**
   * A session.
   *
   * @param login the one that has used it last
   */
  private record Session(String user, String id, String login) {}

  /**
   * Returns a call that ends with its login.
   *
   * @param nanos a time before the check of the login
   */
  static <Q, R> ServerCall<Q, R> add(ServerCall<Q, R> call, String login, long nanos) {
    var open = new Open<>(call);
    synchronized (calls) {
      calls.put(open, login);
    }
    var ended = EndedLogins.since(login, nanos);
    if (ended != null) open.end(ended);
    return open;
  }

  /** Notes the login that uses a session. */
  static void note(SparkSession spark, String user, String id, String login) {
    synchronized (sessions) {
      sessions.put(spark, new Session(user, id, login));
    }
  }

  /** Ends the calls and the sessions of a login. */
  static void end(String login, String message) {
    for (var call : of(login)) call.end(message);
    List<Session> own;
    synchronized (sessions) {
      own = sessions.values().stream().filter(each -> each.login().equals(login)).toList();
    }
    for (var session : own) {
      var key = new SessionKey(session.user(), session.id());
      SparkConnectService$.MODULE$.sessionManager().closeSession(key, false);
    }
  }

  private static List<Open<?, ?>> of(String login) {
    var own = new ArrayList<Open<?, ?>>();
    synchronized (calls) {
      calls.forEach(
          (call, each) -> {
            if (each.equals(login)) own.add(call);
          });
    }
    return own;
  }

  /** A call that another thread can end: the calls of gRPC may not be used by two threads. */
  private static final class Open<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private boolean isClosed;
    private boolean isEnded;

    Open(ServerCall<Q, R> call) {
      super(call);
    }

    synchronized void end(String message) {
      isEnded = true;
      if (isClosed) return;
      isClosed = true;
      super.close(Status.UNAUTHENTICATED.withDescription(message), new Metadata());
    }

    @Override
    public synchronized void close(Status status, Metadata trailers) {
      if (isEnded) return;
      isClosed = true;
      super.close(status, trailers);
    }

    @Override
    public synchronized void sendHeaders(Metadata headers) {
      if (!isEnded) super.sendHeaders(headers);
    }

    @Override
    public synchronized void sendMessage(R message) {
      if (!isEnded) super.sendMessage(message);
    }
  }
}
