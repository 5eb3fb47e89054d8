package dev.jetsql.endpoints;

import dev.jetsql.common.EngineCallback;
import java.net.InetAddress;
import java.util.Map;
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
    var response = ask();
    if (response.isEmpty()) throw refused();
    user = response;
  }

  /**
   * Returns whether the client can still log in. A connection stays open for as long as the client
   * likes, and its token can expire or be dropped meanwhile.
   */
  boolean isAdmitted() {
    return user != null && user.equals(ask());
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

  /** Returns the user with the name and the token, or an empty text. */
  private String ask() {
    var request = Map.of("name", name, "token", token, "address", address());
    var response = EngineCallback.LOG_IN.ask(null, request);
    var delay = response.get("delay").asDouble();
    if (delay > 0) pause(delay);
    tokenId = response.get("token").asText();
    return response.get("user").asText();
  }

  private static void pause(double seconds) {
    try {
      Thread.sleep(Math.round(seconds * 1000));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the server stops
    }
  }

  private static AuthenticationException refused() {
    return new AuthenticationException(
        "The password must be a valid token, and the name that of its user.");
  }
}
