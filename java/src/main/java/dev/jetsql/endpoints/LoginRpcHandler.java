package dev.jetsql.endpoints;

import io.netty.channel.Channel;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.server.AbstractAuthRpcHandler;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.StreamManager;

/** Spark's handler of one connection, which reports its login, and gives no data before. */
final class LoginRpcHandler extends RpcHandler {
  private final AbstractAuthRpcHandler handler;
  private final Runnable onLogin;

  /**
   * Creates the handler of a new connection.
   *
   * @param handler Spark's handler, which refuses messages before the login
   * @param onLogin called when the client has logged in, perhaps more than once
   */
  LoginRpcHandler(AbstractAuthRpcHandler handler, Runnable onLogin) {
    this.handler = handler;
    this.onLogin = onLogin;
  }

  @Override
  public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
    boolean before = handler.isAuthenticated();
    handler.receive(client, message, callback);
    if (!before && handler.isAuthenticated()) onLogin.run();
  }

  @Override
  public void receive(TransportClient client, ByteBuffer message) {
    handler.receive(client, message);
  }

  @Override
  public StreamCallbackWithID receiveStream(
      TransportClient client, ByteBuffer header, RpcResponseCallback callback) {
    return handler.receiveStream(client, header, callback);
  }

  @Override
  public StreamManager getStreamManager() {
    return new LoginStreams(handler);
  }

  @Override
  public MergedBlockMetaReqHandler getMergedBlockMetaReqHandler() {
    return handler.getMergedBlockMetaReqHandler();
  }

  @Override
  public void channelActive(TransportClient client) {
    handler.channelActive(client);
  }

  @Override
  public void channelInactive(TransportClient client) {
    handler.channelInactive(client);
  }

  @Override
  public void exceptionCaught(Throwable cause, TransportClient client) {
    handler.exceptionCaught(cause, client);
  }

  /** The streams of a connection, which Spark also gives to clients that have not logged in. */
  private static final class LoginStreams extends StreamManager {
    private final AbstractAuthRpcHandler handler;
    private final StreamManager streams;

    LoginStreams(AbstractAuthRpcHandler handler) {
      this.handler = handler;
      this.streams = handler.getStreamManager();
    }

    private void checkLogin() {
      if (!handler.isAuthenticated()) throw new SecurityException("The client has not logged in.");
    }

    @Override
    public ManagedBuffer getChunk(long stream, int chunk) {
      checkLogin();
      return streams.getChunk(stream, chunk);
    }

    @Override
    public ManagedBuffer openStream(String stream) {
      checkLogin();
      return streams.openStream(stream);
    }

    @Override
    public void checkAuthorization(TransportClient client, long stream) {
      checkLogin();
      streams.checkAuthorization(client, stream);
    }

    @Override
    public void checkAuthorization(TransportClient client, String stream) {
      checkLogin();
      streams.checkAuthorization(client, stream);
    }

    @Override
    public void connectionTerminated(Channel channel) {
      streams.connectionTerminated(channel);
    }

    @Override
    public long chunksBeingTransferred() {
      return streams.chunksBeingTransferred();
    }

    @Override
    public void chunkBeingSent(long stream) {
      streams.chunkBeingSent(stream);
    }

    @Override
    public void streamBeingSent(String stream) {
      streams.streamBeingSent(stream);
    }

    @Override
    public void chunkSent(long stream) {
      streams.chunkSent(stream);
    }

    @Override
    public void streamSent(String stream) {
      streams.streamSent(stream);
    }
  }
}
