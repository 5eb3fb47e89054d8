package dev.jetsql.endpoints;

import dev.jetsql.options.SparkSettings;
import org.apache.spark.connect.proto.ConfigRequest;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.sparkproject.connect.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.sparkproject.connect.grpc.Metadata;
import org.sparkproject.connect.grpc.ServerCall;
import org.sparkproject.connect.grpc.ServerCallHandler;
import org.sparkproject.connect.grpc.ServerInterceptor;

/** Checks the settings of the sessions of Spark Connect before Spark answers `spark.conf.set`. */
final class ConnectSettings implements ServerInterceptor {
  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
      @Override
      public void onMessage(Q message) {
        if (message instanceof ConfigRequest request && request.getOperation().hasSet())
          check(request);
        super.onMessage(message);
      }
    };
  }

  private static void check(ConfigRequest request) {
    try {
      var user = request.getUserContext().getUserId();
      var holder =
          SparkConnectService$.MODULE$.getOrCreateIsolatedSession(user, request.getSessionId());
      SparkSettings.Checked.install(holder.session());
    } catch (Exception e) { // Spark then reports what is wrong with the session
      return;
    }
  }
}
