package dev.jetsql.endpoints;

import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connect.service.SparkConnectInterceptorRegistry$;
import org.apache.spark.sql.connect.service.SparkConnectService;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.sparkproject.connect.grpc.Server;
import org.sparkproject.connect.grpc.netty.GrpcSslContexts;
import org.sparkproject.connect.grpc.netty.NettyServerBuilder;
import scala.Option;

/**
 * The server of Spark Connect. Spark's own has no TLS and one token for all, so this class makes
 * another one with Spark's service, and ends Spark's before any client can use it.
 */
public final class ConnectServer {
  private static final SparkConnectService$ SERVICE = SparkConnectService$.MODULE$;
  private static final String ADDRESS = "spark.connect.grpc.binding.address";
  private static final String PORT = "spark.connect.grpc.binding.port";
  private static final String TOKEN = "spark.connect.authenticate.token";
  private static final int TOKEN_BYTES = 32;

  /** The pings of Spark 4.3, by default as there. */
  private static final String PINGS = "spark.connect.grpc.keepAlive.";

  private static final int MOST_FREQUENT_PING_SECONDS = 10;

  private ConnectServer() {}

  /**
   * Starts Spark Connect and returns its port.
   *
   * @param port 0 for any free one
   * @param certificate null for a server without TLS
   * @param max the number of connections that may be open without a login
   * @param millis the time for a login, in milliseconds
   */
  public static int start(
      SparkContext context, String host, int port, TlsCertificate certificate, int max, long millis)
      throws Exception {
    startService(context);
    try {
      var pending = new PendingLogins<SocketAddress>("connect-logins", max, millis);
      var server = builder(context.conf(), host, port);
      server.intercept(new ConnectUsers(pending)); // the last one is called first
      server.handshakeTimeout(millis, TimeUnit.MILLISECONDS);
      if (certificate != null)
        server.sslContext(
            GrpcSslContexts.configure(SslContextBuilder.forServer(certificate), SslProvider.JDK)
                .protocols(TlsCertificate.PROTOCOLS)
                .build());
      var started = server.build().start();
      SERVICE.server_$eq(started);
      ConnectLogins.limit(started, pending);
      SERVICE.bindingAddress_$eq((InetSocketAddress) started.getListenSockets().get(0));
      return started.getPort();
    } catch (IOException | RuntimeException | ReflectiveOperationException e) {
      SERVICE.stop(Option.empty(), Option.empty());
      throw e;
    }
  }

  /**
   * Starts Spark's service, and ends its server. For some milliseconds that one listens at a free
   * port of the loopback interface, with a token that is in no other place.
   */
  private static void startService(SparkContext context) throws InterruptedException {
    var token = new byte[TOKEN_BYTES];
    new SecureRandom().nextBytes(token);
    SparkConf conf = context.conf();
    conf.set(ADDRESS, "127.0.0.1");
    conf.set(PORT, "0");
    conf.set(TOKEN, Base64.getEncoder().encodeToString(token));
    try {
      SERVICE.start(context);
    } finally {
      conf.remove(TOKEN); // every later session would have it among its settings
    }
    Server own = SERVICE.server();
    own.shutdownNow();
    own.awaitTermination();
  }

  /** Returns a server with Spark's service, as Spark itself makes it. */
  private static NettyServerBuilder builder(SparkConf conf, String host, int port) {
    var server = NettyServerBuilder.forAddress(new InetSocketAddress(host, port));
    var largest = conf.getSizeAsBytes("spark.connect.grpc.maxInboundMessageSize", "128m");
    server.maxInboundMessageSize(Math.toIntExact(largest));
    if (conf.getBoolean(PINGS + "enabled", true)) {
      server.keepAliveTime(conf.getTimeAsSeconds(PINGS + "time", "60s"), TimeUnit.SECONDS);
      server.keepAliveTimeout(conf.getTimeAsSeconds(PINGS + "timeout", "20s"), TimeUnit.SECONDS);
    }
    server.permitKeepAliveTime(MOST_FREQUENT_PING_SECONDS, TimeUnit.SECONDS);
    server.permitKeepAliveWithoutCalls(true);
    server.addService(new SparkConnectService(false));
    var interceptors = SparkConnectInterceptorRegistry$.MODULE$; // it unpacks compressed requests
    interceptors.chainInterceptors(server, interceptors.createConfiguredInterceptors());
    server.intercept(new ConnectSettings());
    server.intercept(new ConnectCallers());
    return server;
  }
}
