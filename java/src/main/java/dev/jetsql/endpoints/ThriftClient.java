package dev.jetsql.endpoints;

import java.net.InetAddress;
import java.util.Objects;
import javax.security.sasl.AuthenticationException;
import org.apache.thrift.transport.TSocket;

/**
 * The client of a connection to the Thrift endpoint. The server has a thread for each connection,
 * which serves it from the login to its end.
 */
final class ThriftClient {
  private static final ThreadLocal<ThriftClient> current = new ThreadLocal<>();

  private final TSocket socket;
  private String name;
  private String token;
  private String user;
  private String tokenId = "";

  private ThriftClient(TSocket socket) {
    this.socket = socket;
  }

  /** Makes the client of a connection the one that this thread serves from now on. */
  static void begin(TSocket socket) {
    var before = current.get();
    if (before == null || before.socket != socket) current.set(new ThriftClient(socket));
  }

  /** Returns the client that this thread serves. */
  static ThriftClient current() {
    return Objects.requireNonNull(current.get(), "the thread serves no client");
  }

  /** Logs the client in. The answer to a failed login may be delayed. */
  void logIn(String newName, String newToken) throws AuthenticationException {
    name = Objects.requireNonNullElse(newName, "");
    token = Objects.requireNonNullElse(newToken, "");
    Login login;
    try {
      login = ask();
    } catch (Exception e) { // a Scala method declares no checked exception
      throw refused(e.getMessage(), e);
    }
    if (login.isRefused()) throw refused(login.refusal(), null);
    user = login.user();
  }

  /**
   * Returns whether the client can still log in. A connection stays open for as long as the client
   * likes, and its token can expire or be dropped meanwhile.
   */
  boolean isAdmitted() {
    if (user == null) return false;
    var login = ask();
    return !login.isRefused() && user.equals(login.user());
  }

  /** Returns the user who has logged in. */
  String user() {
    return Objects.requireNonNull(user, "the client has not logged in");
  }

  /** Returns the id of the token that the client has sent. */
  String tokenId() {
    return tokenId;
  }

  /** Returns the IP address of the client, or an empty text. */
  String address() {
    InetAddress address = socket.getSocket().getInetAddress();
    return address == null ? "" : address.getHostAddress();
  }

  /** Asks the engine, and waits until its answer is due. */
  private Login ask() {
    var login = Login.of("thrift", name, token, address());
    if (login.millis() > 0) pause(login.millis());
    tokenId = login.token();
    return login;
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the server stops
    }
  }

  private static AuthenticationException refused(String reason, Throwable cause) {
    return new AuthenticationException(reason, cause);
  }
}
