package dev.jetsql.endpoints;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hive.service.CompositeService;
import org.apache.hive.service.Service;
import org.apache.hive.service.ServiceException;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.thrift.ThriftBinaryCLIService;
import org.apache.hive.service.rpc.thrift.TOpenSessionReq;
import org.apache.hive.service.rpc.thrift.TOpenSessionResp;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.server.TServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.TTransportFactory;

/**
 * Logs clients in to the Thrift endpoint, with limits on connections that have not logged in: each is closed after a
 * deadline that no byte extends, and the oldest is closed when there are too many. Without them such a connection holds
 * one of the server's threads for ever: Spark's service has no timeout for the login, and libthrift ignores Hive's.
 */
public class ThriftLogins {
  /** The limit of a message of the login in bytes: a user name and a token. libthrift allocates what a client announces. */
  private static final int MESSAGE_BYTES = 65536;

  /** Expect this token at logins, and return the name of the class that compares it. */
  public String expect(String token) {
    new TokenLogin().expect(token);
    return TokenLogin.class.getName();
  }

  /** Limit the logins of a server that has been initialized and not started. most: connections; millis: the deadline. */
  public void limit(CompositeService server, HiveConf conf, int most, long millis) throws Exception {
    Object[] services = server.getServices().toArray();
    LimitedService limited = new LimitedService((CLIService) services[0], new Pending(most, millis));
    limited.init(conf);
    change(server, "removeService", (Service) services[1]);
    change(server, "addService", limited);
  }

  private static void change(CompositeService server, String method, Service service) throws Exception {
    Method changing = CompositeService.class.getDeclaredMethod(method, new Class[] {Service.class});
    changing.setAccessible(true);
    changing.invoke(server, new Object[] {service});
  }

  static class LimitedService extends ThriftBinaryCLIService {
    private final Pending pending;

    LimitedService(CLIService cliService, Pending pending) {
      super(cliService);
      this.pending = pending;
    }

    protected void initializeServer() {
      super.initializeServer();
      try {
        Field sockets = field("serverTransport_");
        sockets.set(server, new LimitedSockets((TServerSocket) sockets.get(server), pending));
        TTransportFactory logins = new Logins((TTransportFactory) field("inputTransportFactory_").get(server), pending);
        field("inputTransportFactory_").set(server, logins);
        field("outputTransportFactory_").set(server, logins);
      } catch (Exception e) {
        throw new ServiceException("Error initializing the limits of logins", e);
      }
    }

    protected void stopServer() {
      pending.stop();
      super.stopServer();
    }

    public TOpenSessionResp OpenSession(TOpenSessionReq request) throws TException {
      TOpenSessionResp response = super.OpenSession(request);
      keepClassLoaders();
      return response;
    }

    /**
     * Make the session that this thread has just opened leave Spark's class loaders open when it ends. Hive closes the
     * class loader of a session and its parents up to `parentLoader`, and with the class loader that Spark gives its
     * sessions these include the one of `spark.jars`, which then no longer finds a class that was not used before.
     */
    private static void keepClassLoaders() {
      try {
        Field parent = SessionState.class.getDeclaredField("parentLoader");
        parent.setAccessible(true);
        SessionState session = SessionState.get();
        if (session != null) parent.set(session, null);
      } catch (Exception e) {
        throw new IllegalStateException("Error separating the class loaders of a Thrift session from Spark's", e);
      }
    }

    private static Field field(String name) throws Exception {
      Field field = TServer.class.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    }
  }

  /** The connections that have not logged in, oldest first. */
  static class Pending {
    private final int most;
    private final long millis;
    private final Set sockets = new LinkedHashSet();
    private final ScheduledExecutorService deadlines = Executors.newSingleThreadScheduledExecutor(new Daemons());
    private boolean stopped;

    Pending(int most, long millis) {
      this.most = most;
      this.millis = millis;
    }

    synchronized void add(TSocket socket) {
      sockets.add(socket);
      if (stopped || sockets.size() > most) close((TSocket) sockets.iterator().next());
      if (!stopped) deadlines.schedule(new Deadline(this, socket), millis, TimeUnit.MILLISECONDS);
    }

    /** Return whether the connection was still open for its login. */
    synchronized boolean remove(TSocket socket) { return sockets.remove(socket); }

    synchronized void close(TSocket socket) {
      if (!sockets.remove(socket)) return;
      try {
        socket.getSocket().close(); // wakes the thread that reads from it
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    synchronized void stop() {
      stopped = true;
      deadlines.shutdownNow();
      for (Iterator each = new LinkedHashSet(sockets).iterator(); each.hasNext(); ) close((TSocket) each.next());
    }
  }

  static class Deadline implements Runnable {
    private final Pending pending;
    private final TSocket socket;

    Deadline(Pending pending, TSocket socket) {
      this.pending = pending;
      this.socket = socket;
    }

    public void run() { pending.close(socket); }
  }

  static class Daemons implements ThreadFactory {
    public Thread newThread(Runnable work) {
      Thread thread = new Thread(work, "thrift-logins");
      thread.setDaemon(true);
      return thread;
    }
  }

  static class LimitedSockets extends TServerSocket {
    private final Pending pending;

    LimitedSockets(TServerSocket sockets, Pending pending) throws TTransportException {
      super(sockets.getServerSocket());
      this.pending = pending;
    }

    public TSocket accept() throws TTransportException {
      TSocket socket = super.accept();
      socket.getConfiguration().setMaxMessageSize(MESSAGE_BYTES);
      pending.add(socket);
      return socket;
    }
  }

  /** Makes a connection one of a client that has logged in, on the thread that serves it from then on. */
  static class Logins extends TTransportFactory {
    private final TTransportFactory sasl;
    private final Pending pending;

    Logins(TTransportFactory sasl, Pending pending) {
      this.sasl = sasl;
      this.pending = pending;
    }

    public TTransport getTransport(TTransport socket) throws TTransportException {
      TTransport loggedIn;
      try {
        loggedIn = sasl.getTransport(socket); // the second time, for the output, it returns the same transport
      } catch (RuntimeException e) {
        // The server logs every other type with a stack trace, and an attacker must not fill the log.
        if (!pending.remove((TSocket) socket)) throw new TTransportException(TTransportException.TIMED_OUT, e);
        throw e;
      }
      pending.remove((TSocket) socket);
      socket.getConfiguration().setMaxMessageSize(TConfiguration.DEFAULT_MAX_MESSAGE_SIZE);
      loggedIn.updateKnownMessageSize(-1);
      return loggedIn;
    }
  }
}
