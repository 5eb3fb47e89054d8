package dev.jetsql.endpoints;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.transport.TSocket;

/** The connections that have not logged in, oldest first, with limits on their number and time. */
final class PendingLogins {
  private final int max;
  private final long millis;
  private final Set<TSocket> sockets = new LinkedHashSet<>();
  private final ScheduledExecutorService deadlines =
      Executors.newSingleThreadScheduledExecutor(PendingLogins::daemon);
  private boolean stopped;

  /**
   * Creates an empty set of connections.
   *
   * @param max the number of connections that may be open without a login
   * @param millis the time for a login, in milliseconds
   */
  PendingLogins(int max, long millis) {
    this.max = max;
    this.millis = millis;
  }

  private static Thread daemon(Runnable work) {
    var thread = new Thread(work, "thrift-logins");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Adds a new connection, closes the oldest one when there are too many, and closes this one at
   * its deadline.
   */
  @SuppressWarnings(
      "FutureReturnValueIgnored") // a close that fails is logged by the server's thread
  synchronized void add(TSocket socket) {
    sockets.add(socket);
    if (stopped || sockets.size() > max) close(sockets.iterator().next());
    if (!stopped) deadlines.schedule(() -> close(socket), millis, TimeUnit.MILLISECONDS);
  }

  /**
   * Removes a connection whose login has succeeded or failed, and returns whether it was still open
   * for its login.
   */
  synchronized boolean remove(TSocket socket) {
    return sockets.remove(socket);
  }

  private synchronized void close(TSocket socket) {
    if (!sockets.remove(socket)) return;
    try {
      socket.getSocket().close(); // wakes the thread that reads from it
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Closes all connections. A connection that is added later is closed immediately. */
  synchronized void stop() {
    stopped = true;
    deadlines.shutdownNow();
    List.copyOf(sockets).forEach(this::close);
  }
}
