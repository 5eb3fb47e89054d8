package dev.jetsql.endpoints;

import dev.jetsql.common.Reflection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.DefaultGatewayServerListener;
import py4j.GatewayServer;
import py4j.Py4JServerConnection;
import py4j.commands.AuthCommand;

/**
 * Limits the connections to Py4J's gateway that have not sent its token: each is closed after a
 * deadline, and the oldest is closed when there are too many. Py4J itself keeps them, with a thread
 * each, for ever.
 */
public final class GatewayLogins extends DefaultGatewayServerListener {
  private static final Logger LOG = LoggerFactory.getLogger(GatewayLogins.class);

  /** The property of a Java process that an engine has launched, which ends with its gateway. */
  private static final String ENGINE = "jetsql.log";

  /** The exit code of a Java process that Python cannot call any more. */
  private static final int GATEWAY_ENDED = 1;

  private final PendingLogins<Py4JServerConnection> pending;

  private GatewayLogins(PendingLogins<Py4JServerConnection> pending) {
    this.pending = pending;
  }

  /** Limits the logins of a gateway from now on. */
  public static void limit(GatewayServer gateway) {
    var pending =
        new PendingLogins<Py4JServerConnection>(
            "gateway-logins", SparkLogins.MAX_LOGINS, SparkLogins.LOGIN_MILLIS);
    gateway.addListener(new GatewayLogins(pending));
  }

  @Override
  public void connectionStarted(Py4JServerConnection connection) {
    pending.add(connection, () -> closeWithoutLogin(connection));
  }

  @Override
  public void connectionStopped(Py4JServerConnection connection) {
    pending.remove(connection);
  }

  @Override
  public void serverError(Exception error) {
    LOG.error("Py4J's gateway accepts no connection any more, so Python cannot call Java", error);
    if (System.getProperty(ENGINE) != null) Runtime.getRuntime().halt(GATEWAY_ENDED);
  }

  private static void closeWithoutLogin(Py4JServerConnection connection) {
    if (!hasLoggedIn(connection)) PendingLogins.close(connection.getSocket());
  }

  /** Reads a private field: Py4J reports connections to listeners, and no logins. */
  private static boolean hasLoggedIn(Py4JServerConnection connection) {
    try {
      var command =
          (AuthCommand) Reflection.field(connection.getClass(), "authCommand").get(connection);
      return command == null || command.isAuthenticated();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Error finding out whether a client of Py4J logged in", e);
    }
  }
}
