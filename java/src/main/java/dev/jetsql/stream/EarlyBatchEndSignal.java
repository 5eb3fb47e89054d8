package dev.jetsql.stream;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcTimeout;
import org.apache.spark.util.RpcUtils;
import org.apache.spark.util.ThreadUtils;
import scala.concurrent.duration.FiniteDuration;
import scala.reflect.ClassTag$;
import scala.runtime.BoxedUnit;
import scala.util.Try;

/**
 * The signal on an executor that the batch of a run must end early. Each executor sends the driver
 * ({@link EarlyBatchEndCoordinator}) one request for a run, and the driver replies when the batch
 * must end.
 */
final class EarlyBatchEndSignal {
  /** The name of the driver's RPC endpoint. */
  static final String ENDPOINT = "jetsql-early-ends";

  private static final RpcTimeout NO_TIMEOUT =
      new RpcTimeout(FiniteDuration.apply(365L, TimeUnit.DAYS), "none");
  private static final Map<String, EarlyBatchEndSignal> RUNS = new HashMap<>();

  private final String run;
  private volatile boolean set;

  private EarlyBatchEndSignal(String run) {
    this.run = run;
  }

  /** Returns the signal of a run, which all readers on this executor share. */
  static EarlyBatchEndSignal of(String run) {
    synchronized (RUNS) {
      EarlyBatchEndSignal existing = RUNS.get(run);
      if (existing != null) return existing;
      var signal = new EarlyBatchEndSignal(run);
      try {
        RUNS.put(run, signal);
        signal.request();
        return signal;
      } catch (Throwable e) {
        RUNS.remove(run);
        throw new IllegalStateException(
            "Cannot request the early end of a batch from the driver", e);
      }
    }
  }

  private void request() {
    SparkEnv env = SparkEnv.get();
    RpcUtils.makeDriverRef(ENDPOINT, env.conf(), env.rpcEnv())
        .ask(run, NO_TIMEOUT, ClassTag$.MODULE$.apply(Object.class))
        .onComplete(this::complete, ThreadUtils.sameThread());
  }

  /** Returns whether the batch must end. */
  boolean isSet() {
    return set;
  }

  /**
   * Processes the driver's reply. When the request failed, the driver is not reachable, and the
   * next reader sends a new request.
   */
  private BoxedUnit complete(Try<?> reply) {
    synchronized (RUNS) {
      RUNS.remove(run);
    }
    set = reply.isSuccess();
    return BoxedUnit.UNIT;
  }
}
