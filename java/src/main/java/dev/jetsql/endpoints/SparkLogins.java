package dev.jetsql.endpoints;

import dev.jetsql.common.Reflection;
import io.netty.channel.Channel;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.server.AbstractAuthRpcHandler;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.server.TransportServerBootstrap;

/**
 * Limits the connections to Spark's ports for RPC and blocks that have not shown its secret: each
 * is closed after a deadline, and the oldest is closed when there are too many. Spark itself keeps
 * them for ever, and lets them read the files of `ADD JAR` and `ADD FILE`.
 */
public final class SparkLogins implements TransportServerBootstrap {
  /** The limit of connections of a port between Spark's processes that have not logged in. */
  static final int MAX_LOGINS = 256;

  /** The time for a login at one of these ports. */
  static final long LOGIN_MILLIS = 10_000;

  private final PendingLogins<Channel> pending;

  private SparkLogins(PendingLogins<Channel> pending) {
    this.pending = pending;
  }

  /**
   * Limits the logins at the ports of a driver or an executor from now on. Does nothing without
   * Spark's authentication, or when it was called before.
   */
  public static void limit(SparkEnv env) throws ReflectiveOperationException {
    if (!env.securityManager().isAuthenticationEnabled()) return;
    for (Object service : List.of(env.rpcEnv(), env.blockManager().blockTransferService())) {
      var server = (TransportServer) serverField(service.getClass()).get(service);
      if (server != null) limit(server); // the RPC of an executor listens at no port
    }
  }

  /** Sets a private field: Spark makes its servers with its own bootstraps only. */
  private static void limit(TransportServer server) throws ReflectiveOperationException {
    Field field = Reflection.field(TransportServer.class, "bootstraps");
    List<TransportServerBootstrap> bootstraps = new ArrayList<>();
    for (Object each : (List<?>) field.get(server)) bootstraps.add((TransportServerBootstrap) each);
    if (bootstraps.stream().anyMatch(SparkLogins.class::isInstance)) return;
    var pending = new PendingLogins<Channel>("spark-logins", MAX_LOGINS, LOGIN_MILLIS);
    bootstraps.add(new SparkLogins(pending)); // the last one: it sees the messages of the login
    field.set(server, bootstraps);
  }

  /** Returns a private field: neither of Spark's services publishes its server. */
  private static Field serverField(Class<?> service) throws NoSuchFieldException {
    for (Field field : service.getDeclaredFields()) {
      if (field.getType() == TransportServer.class)
        return Reflection.field(service, field.getName());
    }
    throw new NoSuchFieldException(Arrays.toString(service.getDeclaredFields()));
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // of adding a listener
  public RpcHandler doBootstrap(Channel channel, RpcHandler handler) {
    if (!(handler instanceof AbstractAuthRpcHandler login)) return handler;
    pending.add(channel, channel::close);
    channel.closeFuture().addListener(closed -> pending.remove(channel));
    return new LoginRpcHandler(login, () -> pending.remove(channel));
  }
}
