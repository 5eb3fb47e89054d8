package dev.jetsql.jdbc;

import dev.jetsql.common.Outages;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.TaskContext;
import org.slf4j.LoggerFactory;

/**
 * The open connections of this JVM. Aborts those to a database that is away, and those of tasks
 * that were killed: a driver waits for its database without a limit, and no interrupt ends the
 * wait. A limit on the time of a statement would also end statements that are slow, so the database
 * is asked for another connection.
 */
final class GuardedConnections {
  private static final long CHECK_MILLIS = 1_000;
  private static final int ATTEMPTS = 2;
  private static final String REJECTED = "08004"; // by a server that answers
  private static final Set<Guarded> OPEN = ConcurrentHashMap.newKeySet();
  private static Thread guard;

  private GuardedConnections() {}

  /** Opens a connection. */
  interface Opening {
    Connection open() throws Exception;
  }

  /** An open connection. */
  static final class Guarded {
    private final Connection connection;
    private final String database;
    private final Opening opening;
    private final TaskContext task; // null outside of a task
    private volatile long answered = System.nanoTime();

    private Guarded(Connection connection, String database, Opening opening) {
      this.connection = connection;
      this.database = database;
      this.opening = opening;
      this.task = TaskContext.get();
    }

    /** Ends the guard of the connection, which is closed. */
    void release() {
      OPEN.remove(this);
    }

    private boolean isKilled() {
      return task != null && task.isInterrupted();
    }

    private void abort(String reason) {
      OPEN.remove(this);
      LoggerFactory.getLogger(GuardedConnections.class).warn("A connection is aborted: {}", reason);
      try {
        connection.abort(Runnable::run);
      } catch (SQLException e) {
        LoggerFactory.getLogger(GuardedConnections.class).warn("It cannot be aborted", e);
      }
    }
  }

  /**
   * Guards a connection until `release`.
   *
   * @param database the URL
   * @param opening opens another connection to the database
   */
  static Guarded add(Connection connection, String database, Opening opening) {
    var guarded = new Guarded(connection, database, opening);
    synchronized (GuardedConnections.class) {
      OPEN.add(guarded);
      if (guard == null) {
        guard = new Thread(GuardedConnections::run, "jetsql-jdbc-guard");
        guard.setDaemon(true);
        guard.start();
      }
    }
    return guarded;
  }

  private static void run() {
    while (true) {
      try {
        Thread.sleep(CHECK_MILLIS);
        check(Outages.timeoutMillis() / 2);
      } catch (InterruptedException e) {
        return;
      } catch (Exception e) { // also of an invalid setting
        LoggerFactory.getLogger(GuardedConnections.class).warn("Connections are not checked", e);
      }
      synchronized (GuardedConnections.class) {
        if (!OPEN.isEmpty()) continue;
        guard = null;
        return;
      }
    }
  }

  /** Checks connections once, whose databases have not answered for this time. */
  static void check(long millis) throws InterruptedException {
    var due = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(millis);
    for (var each : OPEN) {
      if (each.isKilled()) each.abort("its task was killed");
      else if (each.answered - due < 0 && OPEN.contains(each)) checkDatabase(each, millis);
    }
  }

  private static void checkDatabase(Guarded due, long millis) throws InterruptedException {
    var isAway = true;
    for (var attempt = 0; isAway && attempt < ATTEMPTS; attempt++)
      isAway = isAway(due.opening, millis);
    for (var each : OPEN) {
      if (!each.database.equals(due.database)) continue;
      if (isAway) each.abort("its database does not answer");
      else each.answered = System.nanoTime();
    }
  }

  /**
   * Returns whether the database accepts no connection. It also answers when it refuses a login.
   */
  static boolean isAway(Opening opening, long millis) throws InterruptedException {
    var connecting = new CompletableFuture<Void>();
    var thread = new Thread(() -> connect(opening, connecting), "jetsql-jdbc-probe");
    thread.setDaemon(true);
    thread.start();
    try {
      connecting.get(millis, TimeUnit.MILLISECONDS);
      return false;
    } catch (TimeoutException e) {
      return true;
    } catch (ExecutionException e) {
      return e.getCause() instanceof SQLException sql && isConnectionError(sql.getSQLState());
    }
  }

  private static void connect(Opening opening, CompletableFuture<Void> connecting) {
    try {
      opening.open().close();
      connecting.complete(null);
    } catch (Exception e) {
      connecting.completeExceptionally(e);
    }
  }

  private static boolean isConnectionError(String state) {
    return state != null
        && (state.startsWith("08") || state.startsWith("57P"))
        && !state.equals(REJECTED);
  }
}
