package dev.jetsql.stream;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * The driver's RPC endpoint that signals the readers of a real-time run, on all executors, to end
 * their batch early.
 *
 * <p>Each executor sends one request for a run ({@link EarlyBatchEndSignal}), and the reply is the
 * signal. Spark itself can only kill a task, which fails the batch.
 */
public final class EarlyBatchEndCoordinator implements ThreadSafeRpcEndpoint {
  private static SparkContext context;
  private static EarlyBatchEndCoordinator instance;

  private final RpcEnv env;
  private final Map<String, List<RpcCallContext>> requests = new HashMap<>();

  EarlyBatchEndCoordinator(RpcEnv env) {
    this.env = env;
  }

  static synchronized EarlyBatchEndCoordinator of(SparkContext spark) {
    if (context != spark) {
      var created = new EarlyBatchEndCoordinator(spark.env().rpcEnv());
      created.env.setupEndpoint(EarlyBatchEndSignal.ENDPOINT, created);
      context = spark;
      instance = created;
    }
    return instance;
  }

  /** Registers a run, whose batches run for their full duration until `endBatches`. */
  synchronized void register(String run) {
    requests.put(run, new ArrayList<>());
  }

  /** Ends the running batch of a run, and every later batch immediately. */
  synchronized void endBatches(String run) {
    List<RpcCallContext> waitingRequests = requests.remove(run);
    if (waitingRequests != null) waitingRequests.forEach(request -> request.reply(true));
  }

  private synchronized void replyAtEnd(String run, RpcCallContext request) {
    List<RpcCallContext> waitingRequests = requests.get(run);
    if (waitingRequests == null) request.reply(true);
    else waitingRequests.add(request);
  }

  @Override
  public RpcEnv rpcEnv() {
    return env;
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext request) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(Object run) {
        return run instanceof String;
      }

      @Override
      @SuppressWarnings("unchecked") // Java cannot express that B is a supertype of BoxedUnit
      public <A, B> B applyOrElse(A message, Function1<A, B> otherwise) {
        if (!(message instanceof String run)) return otherwise.apply(message);
        replyAtEnd(run, request);
        return (B) BoxedUnit.UNIT;
      }
    };
  }
}
