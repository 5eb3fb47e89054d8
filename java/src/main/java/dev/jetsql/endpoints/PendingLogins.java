package dev.jetsql.endpoints;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The connections that have not logged in, oldest first, with limits on their number and time. */
final class PendingLogins<C> {
  private final int max;
  private final long millis;
  private final Map<C, Runnable> closes = new LinkedHashMap<>();
  private final ScheduledExecutorService deadlines;
  private boolean stopped;

  /**
   * Creates an empty set of connections.
   *
   * @param name the name of the thread that closes connections
   * @param max the number of connections that may be open without a login
   * @param millis the time for a login, in milliseconds
   */
  PendingLogins(String name, int max, long millis) {
    this.max = max;
    this.millis = millis;
    this.deadlines = Executors.newSingleThreadScheduledExecutor(work -> daemon(work, name));
  }

  private static Thread daemon(Runnable work, String name) {
    var thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Adds a new connection, closes the oldest one when there are too many, and closes this one at
   * its deadline.
   */
  @SuppressWarnings(
      "FutureReturnValueIgnored") // a close that fails is logged by the server's thread
  synchronized void add(C connection, Runnable close) {
    closes.put(connection, close);
    if (stopped || closes.size() > max) close(closes.keySet().iterator().next());
    if (!stopped) deadlines.schedule(() -> close(connection), millis, TimeUnit.MILLISECONDS);
  }

  /**
   * Removes a connection whose login has succeeded or failed, and returns whether it was still open
   * for its login.
   */
  synchronized boolean remove(C connection) {
    return closes.remove(connection) != null;
  }

  /** Closes a socket, which wakes the thread that reads from it. */
  static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private synchronized void close(C connection) {
    Runnable close = closes.remove(connection);
    if (close != null) close.run();
  }

  /** Closes all connections. A connection that is added later is closed immediately. */
  synchronized void stop() {
    stopped = true;
    deadlines.shutdownNow();
    List.copyOf(closes.keySet()).forEach(this::close);
  }
}
