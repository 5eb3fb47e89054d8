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
 * The driver's RPC endpoint that makes the readers of a real-time run end their batch early, on
 * whatever executor.
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

  /** Let the batches of a run take their time until `endBatches`. */
  synchronized void register(String run) {
    requests.put(run, new ArrayList<>());
  }

  /** End the run's batch, and every batch that it begins later. */
  synchronized void endBatches(String run) {
    List<RpcCallContext> waiting = requests.remove(run);
    if (waiting != null) waiting.forEach(request -> request.reply(true));
  }

  private synchronized void replyAtEnd(String run, RpcCallContext request) {
    List<RpcCallContext> waiting = requests.get(run);
    if (waiting == null) request.reply(true);
    else waiting.add(request);
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
      @SuppressWarnings("unchecked") // Java's signature has lost that B is a supertype of BoxedUnit
      public <A, B> B applyOrElse(A message, Function1<A, B> otherwise) {
        if (!(message instanceof String run)) return otherwise.apply(message);
        replyAtEnd(run, request);
        return (B) BoxedUnit.UNIT;
      }
    };
  }
}
