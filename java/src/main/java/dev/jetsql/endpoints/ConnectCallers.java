package dev.jetsql.endpoints;

import dev.jetsql.common.Callers;
import dev.jetsql.common.Principals;
import java.net.SocketAddress;
import org.apache.spark.connect.proto.AnalyzePlanRequest;
import org.apache.spark.connect.proto.ExecutePlanRequest;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.sparkproject.connect.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.sparkproject.connect.grpc.Grpc;
import org.sparkproject.connect.grpc.Metadata;
import org.sparkproject.connect.grpc.ServerCall;
import org.sparkproject.connect.grpc.ServerCallHandler;
import org.sparkproject.connect.grpc.ServerInterceptor;

/** Notes the clients and users of the sessions of Spark Connect. */
final class ConnectCallers implements ServerInterceptor {
  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    var client = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
      @Override
      public void onMessage(Q message) {
        if (message instanceof ExecutePlanRequest request)
          note(request.getUserContext().getUserId(), request.getSessionId(), client);
        else if (message instanceof AnalyzePlanRequest request)
          note(request.getUserContext().getUserId(), request.getSessionId(), client);
        super.onMessage(message);
      }
    };
  }

  private static void note(String user, String session, SocketAddress client) {
    try {
      var holder = SparkConnectService$.MODULE$.getOrCreateIsolatedSession(user, session);
      Callers.put(holder.session(), "connect", client);
      Principals.set(holder.session(), ConnectUsers.current());
      ConnectCalls.note(holder.session(), user, session, ConnectUsers.login());
      AuditedClients.put(
          StatementAudit.connectSession(user, session),
          new AuditedClients.Client(
              ConnectUsers.current(),
              "connect",
              ConnectUsers.address(client),
              ConnectUsers.tokenId()));
    } catch (Exception e) { // Spark then reports what is wrong with the session
      return;
    }
  }
}
