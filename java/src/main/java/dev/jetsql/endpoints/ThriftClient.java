package dev.jetsql.endpoints;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Reflection;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.SessionHandle;
import org.apache.hive.service.cli.operation.Operation;
import org.apache.hive.service.cli.operation.OperationManager;
import org.apache.thrift.transport.TSocket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client of a connection to the Thrift endpoint. The server has a thread for each connection,
 * which serves it from the login to its end.
 */
final class ThriftClient {
  private static final Logger LOG = LoggerFactory.getLogger(ThriftClient.class);
  private static final ThreadLocal<ThriftClient> current = new ThreadLocal<>();

  /** The clients whose connections are open. */
  private static final Set<ThriftClient> clients =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  private final Map<SessionHandle, CLIService> sessions = new ConcurrentHashMap<>();
  private final TSocket socket;
  private String name;
  private String token;
  private String user;
  private String tokenId = "";
  private volatile String login = "";
  private volatile String ended; // the message for a login that is not valid any more

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
    var nanos = System.nanoTime();
    Login answer;
    try {
      answer = ask();
    } catch (Exception e) { // a Scala method declares no checked exception
      throw refused(e.getMessage(), e);
    }
    if (answer.isRefused()) throw refused(answer.refusal(), null);
    user = answer.user();
    login = answer.key();
    clients.add(this);
    ended = EndedLogins.since(login, nanos);
  }

  /** Notes a session of the client, which ends with its login. */
  void opened(SessionHandle session, CLIService service) {
    sessions.put(session, service);
    if (ended != null) close(session, service);
  }

  /** Notes that a session was closed. */
  void closed(SessionHandle session) {
    sessions.remove(session);
  }

  /** Throws the error of a login that is not valid any more. */
  void checkLogin() throws HiveSQLException {
    var message = ended;
    if (message != null) throw new HiveSQLException(message, EndedLogins.STATE);
  }

  /** Ends a login, with the sessions of its clients and what they run. */
  static void end(String login, String message) {
    List<ThriftClient> own;
    synchronized (clients) {
      own = clients.stream().filter(client -> client.login.equals(login)).toList();
    }
    for (var client : own) {
      client.ended = message;
      client.sessions.forEach(ThriftClient::close);
    }
  }

  /** Closes a session. One that runs a statement on the thread of a call waits for its end. */
  private static void close(SessionHandle session, CLIService service) {
    var operations = service.getSessionManager().getOperationManager();
    try {
      for (var operation : all(operations))
        if (operation.getParentSession().getSessionHandle().equals(session))
          operations.cancelOperation(operation.getHandle());
      service.closeSession(session);
    } catch (HiveSQLException e) {
      LOG.debug("The session of an ended login was closed already", e);
    }
  }

  /**
   * Returns all operations. The field is private: Hive removes operations that are too old itself.
   */
  private static List<Operation> all(OperationManager operations) {
    try {
      var field = Reflection.field(OperationManager.class, "handleToOperation");
      synchronized (operations) {
        var found = new ArrayList<Operation>();
        ((Map<?, ?>) field.get(operations)).values().forEach(each -> found.add((Operation) each));
        return found;
      }
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /**
   * Returns whether the client can still log in. A connection stays open for as long as the client
   * likes, and its token can expire or be dropped meanwhile.
   */
  boolean isAdmitted() {
    if (user == null) return false;
    var answer = ask();
    return !answer.isRefused() && user.equals(answer.user());
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
    var answer = Login.of("thrift", name, token, address());
    if (answer.millis() > 0) pause(answer.millis());
    tokenId = answer.token();
    return answer;
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
