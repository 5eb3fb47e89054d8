package dev.jetsql.endpoints;

import dev.jetsql.common.Reflection;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.group.ChannelGroup;
import java.net.SocketAddress;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.sparkproject.connect.grpc.Grpc;
import org.sparkproject.connect.grpc.Metadata;
import org.sparkproject.connect.grpc.ServerCall;
import org.sparkproject.connect.grpc.ServerCallHandler;
import org.sparkproject.connect.grpc.ServerInterceptor;

/**
 * Limits the connections to Spark Connect that have not sent the token: each is closed after a
 * deadline, and the oldest is closed when there are too many. Spark itself keeps them for ever.
 *
 * <p>Spark loads it by the setting `spark.connect.grpc.interceptor.classes`, and calls it only for
 * requests with the token.
 */
public final class ConnectLogins implements ServerInterceptor {
  /** The connections without a login by the addresses of their clients; null before `limit`. */
  private static volatile PendingLogins<SocketAddress> pending;

  /**
   * Limits the logins of the server that has been started. The fields are private: Spark gives its
   * server interceptors only, which see requests and no connections without one.
   *
   * @param max the number of connections that may be open without a login
   * @param millis the time for a login, in milliseconds
   */
  public static void limit(int max, long millis) throws ReflectiveOperationException {
    var logins = new PendingLogins<SocketAddress>("connect-logins", max, millis);
    pending = logins;
    Object server = SparkConnectService$.MODULE$.server();
    Object transport = Reflection.field(server.getClass(), "transportServer").get(server);
    var listening =
        (ChannelGroup) Reflection.field(transport.getClass(), "channelGroup").get(transport);
    for (Channel channel : listening) channel.pipeline().addFirst(new Accepted(logins));
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    var logins = pending;
    var client = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    if (logins != null && client != null) logins.remove(client);
    return next.startCall(call, headers);
  }

  /** Registers each connection that the server accepts as pending. */
  private static final class Accepted extends ChannelInboundHandlerAdapter {
    private final PendingLogins<SocketAddress> pending;

    Accepted(PendingLogins<SocketAddress> pending) {
      this.pending = pending;
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // of adding a listener
    public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
      var channel = (Channel) message;
      SocketAddress client = channel.remoteAddress();
      if (client != null) {
        pending.add(client, () -> close(channel));
        channel.closeFuture().addListener(closed -> pending.remove(client));
      }
      super.channelRead(context, message);
    }

    /**
     * Closes a connection immediately. gRPC itself would first wait some seconds for the client.
     */
    private static void close(Channel channel) {
      var unsafe = channel.unsafe();
      if (channel.isRegistered())
        channel.eventLoop().execute(() -> unsafe.close(channel.voidPromise()));
      else unsafe.closeForcibly();
    }
  }
}
