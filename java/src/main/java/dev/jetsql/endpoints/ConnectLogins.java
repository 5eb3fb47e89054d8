package dev.jetsql.endpoints;

import dev.jetsql.common.Reflection;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.group.ChannelGroup;
import java.net.SocketAddress;
import org.sparkproject.connect.grpc.Server;

/**
 * Limits the connections to Spark Connect that have not sent the token: each is closed after a
 * deadline, and the oldest is closed when there are too many. Spark itself keeps them for ever.
 */
final class ConnectLogins {
  private ConnectLogins() {}

  /**
   * Limits the logins of a server that has been started. The fields are private: interceptors see
   * requests, and no connections without one.
   *
   * @param pending the connections without a login by the addresses of their clients
   */
  static void limit(Server server, PendingLogins<SocketAddress> pending)
      throws ReflectiveOperationException {
    Object transport = Reflection.field(server.getClass(), "transportServer").get(server);
    var listening =
        (ChannelGroup) Reflection.field(transport.getClass(), "channelGroup").get(transport);
    for (Channel channel : listening) channel.pipeline().addFirst(new Accepted(pending));
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
