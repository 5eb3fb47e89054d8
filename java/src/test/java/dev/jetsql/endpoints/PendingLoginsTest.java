package dev.jetsql.endpoints;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransportException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PendingLoginsTest {
  private static final long LONG_MILLIS = 600000;

  private ServerSocket server;
  private final List<Socket> clients = new ArrayList<>();

  @BeforeEach
  void listen() throws IOException {
    server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void closeSockets() throws IOException {
    for (Socket client : clients) client.close();
    server.close();
  }

  private TSocket connection() throws IOException, TTransportException {
    clients.add(new Socket(server.getInetAddress(), server.getLocalPort()));
    return new TSocket(server.accept());
  }

  private static void add(PendingLogins<TSocket> pending, TSocket socket) {
    pending.add(socket, () -> PendingLogins.close(socket.getSocket()));
  }

  private static boolean isOpen(TSocket socket) {
    return !socket.getSocket().isClosed();
  }

  @Test
  void closesTheOldestWhenThereAreTooMany() throws Exception {
    var pending = new PendingLogins<TSocket>("test-logins", 2, LONG_MILLIS);
    TSocket first = connection();
    TSocket second = connection();
    TSocket third = connection();
    add(pending, first);
    add(pending, second);
    assertTrue(isOpen(first));
    add(pending, third);
    assertFalse(isOpen(first));
    assertTrue(isOpen(second) && isOpen(third));
    assertFalse(pending.remove(first));
    assertTrue(pending.remove(second));
    pending.stop();
  }

  @Test
  void doesNotCountAConnectionThatHasLoggedIn() throws Exception {
    var pending = new PendingLogins<TSocket>("test-logins", 1, LONG_MILLIS);
    TSocket first = connection();
    add(pending, first);
    assertTrue(pending.remove(first));
    add(pending, connection());
    assertTrue(isOpen(first));
    pending.stop();
    assertTrue(isOpen(first));
  }

  @Test
  void wakesTheThreadThatReadsFromAConnectionAtItsDeadline() throws Exception {
    var pending = new PendingLogins<TSocket>("test-logins", 2, 50);
    TSocket socket = connection();
    add(pending, socket);
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          try {
            assertEquals(-1, socket.getSocket().getInputStream().read());
          } catch (SocketException closed) {
            // which of the two depends on whether the thread reads already
          }
        });
    assertFalse(pending.remove(socket));
    pending.stop();
  }

  @Test
  void leavesAConnectionOpenThatLogsInBeforeItsDeadline() throws Exception {
    var pending = new PendingLogins<TSocket>("test-logins", 3, 100);
    TSocket loggedIn = connection();
    TSocket waiting = connection();
    add(pending, loggedIn);
    assertTrue(pending.remove(loggedIn));
    add(pending, waiting);
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          while (isOpen(waiting)) Thread.sleep(10);
        });
    assertTrue(isOpen(loggedIn));
    pending.stop();
  }

  @Test
  void closesAllWhenItStopsAndEveryLaterOne() throws Exception {
    var pending = new PendingLogins<TSocket>("test-logins", 2, LONG_MILLIS);
    TSocket before = connection();
    TSocket after = connection();
    add(pending, before);
    pending.stop();
    assertFalse(isOpen(before));
    add(pending, after);
    assertFalse(isOpen(after));
  }
}
