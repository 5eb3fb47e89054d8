package dev.jetsql.endpoints;

import dev.jetsql.common.Callers;
import dev.jetsql.common.Principals;
import dev.jetsql.common.Reflection;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Map;
import javax.net.ssl.SSLException;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hive.service.ServiceException;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.SessionHandle;
import org.apache.hive.service.cli.thrift.ThriftBinaryCLIService;
import org.apache.hive.service.rpc.thrift.TCloseSessionReq;
import org.apache.hive.service.rpc.thrift.TCloseSessionResp;
import org.apache.hive.service.rpc.thrift.TOpenSessionReq;
import org.apache.hive.service.rpc.thrift.TOpenSessionResp;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.server.TServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.TTransportFactory;

/**
 * Spark's Thrift service with limits on connections that have not logged in, whose sessions belong
 * to the users who have.
 */
final class LimitedThriftService extends ThriftBinaryCLIService {
  /**
   * The limit of a login message in bytes: a user name and a token. libthrift allocates the size
   * that a client announces.
   */
  private static final int LOGIN_BYTES = 65536;

  /** The setting of a new session with its current schema. */
  static final String DATABASE = "use:database";

  private final PendingLogins<TSocket> pending;
  private final TlsCertificate certificate;

  /**
   * Creates the service.
   *
   * @param certificate of its connections with TLS; null for connections without it
   */
  LimitedThriftService(
      CLIService service, PendingLogins<TSocket> pending, TlsCertificate certificate) {
    super(service);
    this.pending = pending;
    this.certificate = certificate;
  }

  /** Sets private fields: Hive makes the server and its transports in one method. */
  @Override
  protected void initializeServer() {
    super.initializeServer();
    try {
      Field sockets = Reflection.field(TServer.class, "serverTransport_");
      sockets.set(
          server, new LimitedSockets((TServerSocket) sockets.get(server), pending, certificate));
      Field input = Reflection.field(TServer.class, "inputTransportFactory_");
      var logins = new Logins((TTransportFactory) input.get(server), pending);
      input.set(server, logins);
      Reflection.field(TServer.class, "outputTransportFactory_").set(server, logins);
      Reflection.field(TServer.class, "processorFactory_")
          .set(server, ThriftCalls.processors(this, cliService));
    } catch (Exception e) {
      throw new ServiceException("Error initializing the limits of logins", e);
    }
  }

  @Override
  protected void stopServer() {
    pending.stop();
    super.stopServer();
  }

  @Override
  public TOpenSessionResp OpenSession(TOpenSessionReq request) throws TException {
    Map<String, String> settings = request.getConfiguration();
    String database = settings == null ? null : settings.remove(DATABASE);
    TOpenSessionResp response = super.OpenSession(request);
    keepClassLoaders();
    if (!response.isSetSessionHandle()) return response;
    var handle =
        new SessionHandle(response.getSessionHandle(), response.getServerProtocolVersion());
    var client = ThriftClient.current();
    var session = ThriftCalls.session(cliService, handle);
    Principals.set(session, client.user());
    Callers.put(session, "thrift", client.address());
    client.opened(handle, cliService);
    AuditedClients.put(
        handle.getSessionId().toString(),
        new AuditedClients.Client(client.user(), "thrift", client.address(), client.tokenId()));
    if (database == null) return response;
    try {
      use(session, database);
      return response;
    } catch (Exception e) { // a Scala method declares no checked exception
      return refused(response, handle, e);
    }
  }

  @Override
  public TCloseSessionResp CloseSession(TCloseSessionReq request) throws TException {
    TCloseSessionResp response = super.CloseSession(request);
    ThriftClient.current().closed(new SessionHandle(request.getSessionHandle()));
    return response;
  }

  /**
   * Sets the current schema of a new session. Spark does this in the class loader of Hive's
   * session, which does not have the catalogues of table formats. Drivers name the schema in which
   * each session begins, also for a user without a right on it.
   */
  private static void use(SparkSession session, String database) {
    Thread.currentThread().setContextClassLoader(LimitedThriftService.class.getClassLoader());
    if (!database.equals(session.sessionState().catalog().getCurrentDatabase()))
      session.sql("USE " + database);
  }

  private TOpenSessionResp refused(
      TOpenSessionResp response, SessionHandle handle, Exception error) {
    try {
      cliService.closeSession(handle);
    } catch (HiveSQLException e) {
      error.addSuppressed(e);
    }
    var refusal = new HiveSQLException("Failed to open new session: " + error, error);
    return new TOpenSessionResp(
        HiveSQLException.toTStatus(refusal), response.getServerProtocolVersion());
  }

  /**
   * Prevents the session that this thread has just opened from closing Spark's class loaders when
   * it ends. Hive closes the class loader of a session and its parents up to `parentLoader`. In
   * Spark's sessions the parents include the loader of `spark.jars`, which then cannot load further
   * classes. The field is private: Hive sets it itself for each session.
   */
  private static void keepClassLoaders() {
    try {
      Field parent = Reflection.field(SessionState.class, "parentLoader");
      SessionState session = SessionState.get();
      if (session != null) parent.set(session, null);
    } catch (Exception e) {
      throw new IllegalStateException(
          "Error separating the class loaders of a Thrift session from Spark's", e);
    }
  }

  /** Registers each connection that the server accepts as pending. */
  private static final class LimitedSockets extends TServerSocket {
    private final PendingLogins<TSocket> pending;
    private final TlsCertificate certificate;

    LimitedSockets(
        TServerSocket sockets, PendingLogins<TSocket> pending, TlsCertificate certificate)
        throws TTransportException {
      super(sockets.getServerSocket());
      this.pending = pending;
      this.certificate = certificate;
    }

    @Override
    public TSocket accept() throws TTransportException {
      TSocket accepted = super.accept();
      TSocket socket = certificate == null ? accepted : encrypted(accepted);
      socket.getConfiguration().setMaxMessageSize(LOGIN_BYTES);
      // The connection itself: the end of TLS would first wait for the client.
      pending.add(socket, () -> PendingLogins.close(accepted.getSocket()));
      return socket;
    }

    /** Returns the connection with TLS, whose handshake comes with the first read of the login. */
    private TSocket encrypted(TSocket accepted) throws TTransportException {
      try {
        return new TSocket(certificate.accept(accepted.getSocket()));
      } catch (IOException e) {
        accepted.close();
        throw new TTransportException(e);
      }
    }
  }

  /**
   * Logs a client in on the thread that serves it from then on, and lifts the limits of its
   * connection.
   */
  private static final class Logins extends TTransportFactory {
    private final TTransportFactory sasl;
    private final PendingLogins<TSocket> pending;

    Logins(TTransportFactory sasl, PendingLogins<TSocket> pending) {
      this.sasl = sasl;
      this.pending = pending;
    }

    @Override
    public TTransport getTransport(TTransport socket) throws TTransportException {
      TTransport loggedIn;
      // A session leaves its class loader, which Spark closes, to the thread that served it. Hive
      // looks up the class that checks tokens with the loader of the thread.
      Thread.currentThread().setContextClassLoader(LimitedThriftService.class.getClassLoader());
      ThriftClient.begin((TSocket) socket);
      try {
        loggedIn =
            sasl.getTransport(
                socket); // the second call, for the output, returns the same transport
      } catch (RuntimeException e) {
        // The server logs every other error type with a stack trace, with which an attacker could
        // fill the log.
        if (!pending.remove((TSocket) socket) || isOfTls(e))
          throw new TTransportException(TTransportException.TIMED_OUT, e);
        throw e;
      }
      pending.remove((TSocket) socket);
      socket.getConfiguration().setMaxMessageSize(TConfiguration.DEFAULT_MAX_MESSAGE_SIZE);
      loggedIn.updateKnownMessageSize(-1);
      return loggedIn;
    }

    /** Returns whether the client sends no TLS, or does not trust the certificate. */
    private static boolean isOfTls(Throwable error) {
      return error instanceof SSLException
          || (error.getCause() != null && isOfTls(error.getCause()));
    }
  }
}
