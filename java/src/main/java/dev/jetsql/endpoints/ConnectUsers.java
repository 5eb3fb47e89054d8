package dev.jetsql.endpoints;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.apache.spark.connect.proto.UserContext;
import org.sparkproject.connect.grpc.Context;
import org.sparkproject.connect.grpc.Contexts;
import org.sparkproject.connect.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.sparkproject.connect.grpc.Grpc;
import org.sparkproject.connect.grpc.Metadata;
import org.sparkproject.connect.grpc.ServerCall;
import org.sparkproject.connect.grpc.ServerCallHandler;
import org.sparkproject.connect.grpc.ServerInterceptor;
import org.sparkproject.connect.grpc.Status;
import org.sparkproject.connect.protobuf.Message;

/**
 * Admits the requests of clients with a token. When the engine has users, each message must name
 * the user of the token: Spark finds a session by this name and an id that the client chooses, and
 * would give it to any client that knows both.
 */
final class ConnectUsers implements ServerInterceptor {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("Authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final String BEARER = "bearer ";
  private static final Context.Key<String> USER = Context.key("user");
  private static final Context.Key<String> TOKEN = Context.key("token");
  private static final Context.Key<String> LOGIN = Context.key("login");
  private static final String FIELD = "user_context";

  private final PendingLogins<SocketAddress> pending;

  ConnectUsers(PendingLogins<SocketAddress> pending) {
    this.pending = pending;
  }

  /** Returns the user of the request that this thread handles. */
  static String current() {
    return USER.get();
  }

  /** Returns the id of the token of the request that this thread handles. */
  static String tokenId() {
    return TOKEN.get();
  }

  /** Returns the key of the login of the request that this thread handles. */
  static String login() {
    return LOGIN.get();
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    SocketAddress client = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    var nanos = System.nanoTime();
    Login login;
    try {
      login = Login.of("connect", null, token(headers), address(client));
    } catch (Exception e) { // a Scala method declares no checked exception
      call.close(Status.UNAVAILABLE.withDescription(e.getMessage()), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    if (!login.hasUser()) {
      var refusal = Status.UNAUTHENTICATED.withDescription(login.refusal());
      login.whenDue().execute(() -> call.close(refusal, new Metadata()));
      return new ServerCall.Listener<>() {};
    }
    if (client != null) pending.remove(client);
    if (login.isRefused()) {
      refuse(call, login.refusal());
      return new ServerCall.Listener<>() {};
    }
    var context =
        Context.current().withValues(USER, login.user(), TOKEN, login.token(), LOGIN, login.key());
    var open = ConnectCalls.add(call, login.key(), nanos);
    var listener = Contexts.interceptCall(context, open, headers, next);
    return login.hasUsers() ? new Named<>(listener, open, login.user()) : listener;
  }

  private static String token(Metadata headers) {
    String given = headers.get(AUTHORIZATION);
    boolean isBearer = given != null && given.regionMatches(true, 0, BEARER, 0, BEARER.length());
    return isBearer ? given.substring(BEARER.length()).trim() : "";
  }

  static String address(SocketAddress client) {
    var address = client instanceof InetSocketAddress internet ? internet.getAddress() : null;
    return address == null ? "" : address.getHostAddress();
  }

  private static void refuse(ServerCall<?, ?> call, String reason) {
    call.close(Status.PERMISSION_DENIED.withDescription(reason), new Metadata());
  }

  /** Passes the messages on that name a user, and refuses the call of any other. */
  private static final class Named<Q> extends SimpleForwardingServerCallListener<Q> {
    private final ServerCall<Q, ?> call;
    private final String user;
    private boolean isRefused;

    Named(ServerCall.Listener<Q> listener, ServerCall<Q, ?> call, String user) {
      super(listener);
      this.call = call;
      this.user = user;
    }

    @Override
    public void onMessage(Q message) {
      if (isRefused) return;
      var named = named(message);
      if (user.equalsIgnoreCase(named)) {
        super.onMessage(message);
        return;
      }
      isRefused = true;
      refuse(
          call,
          "The session is one of the user "
              + named
              + ", and the token belongs to "
              + user
              + ". Write user_id="
              + user
              + " into the address, as in sc://HOST:PORT/;user_id="
              + user
              + ";token=TOKEN.");
    }

    @Override
    public void onHalfClose() {
      if (!isRefused) super.onHalfClose();
    }

    @Override
    public void onReady() {
      if (!isRefused) super.onReady();
    }

    /** Returns the user that a message names; null for a message without one. */
    private static String named(Object message) {
      if (!(message instanceof Message found)) return null;
      var field = found.getDescriptorForType().findFieldByName(FIELD);
      return field != null && found.getField(field) instanceof UserContext context
          ? context.getUserId()
          : null;
    }
  }
}
