package dev.jetsql.stream;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Tells the readers of runs in real-time mode, on whatever member they are, that their batch is to end before its time.
 *
 * Each member asks once for a run (`EarlyEnd`), and is answered when that is so. Spark itself has no word for a task but
 * that it is killed, which fails the batch.
 */
public class EarlyEnds implements ThreadSafeRpcEndpoint {
  private static final String NAME = "jetsql-early-ends"; // that `EarlyEnd` asks
  private static SparkContext context;
  private static EarlyEnds all;

  private final RpcEnv env;
  private final Map asking = new HashMap();

  EarlyEnds(RpcEnv env) { this.env = env; }

  static synchronized EarlyEnds of(SparkContext spark) throws Throwable {
    if (context != spark) {
      EarlyEnds made = new EarlyEnds(rpcEnv(spark.env()));
      made.env.setupEndpoint(NAME, made);
      context = spark;
      all = made;
    }
    return all;
  }

  /** By name: to compile a call, all methods would be looked at, and some name classes that Spark does not bring along. */
  private static RpcEnv rpcEnv(Object env) throws Throwable {
    MethodType type = MethodType.methodType(RpcEnv.class);
    return (RpcEnv) MethodHandles.publicLookup().findVirtual(SparkEnv.class, "rpcEnv", type).invokeWithArguments(new Object[] {env});
  }

  /** A run whose batches take their time until it is told to `end`. */
  synchronized void begin(String run) { asking.put(run, new ArrayList()); }

  /** The run's batch ends, and each that it should begin after it. */
  synchronized void end(String run) {
    List who = (List) asking.remove(run);
    if (who == null) return;
    Iterator each = who.iterator();
    while (each.hasNext()) ((RpcCallContext) each.next()).reply(Boolean.TRUE);
  }

  private synchronized void asked(String run, RpcCallContext who) {
    List others = (List) asking.get(run);
    if (others == null) who.reply(Boolean.TRUE);
    else others.add(who);
  }

  public RpcEnv rpcEnv() { return env; }

  public PartialFunction receiveAndReply(RpcCallContext who) { return new Asked(this, who); }

  static class Asked extends AbstractPartialFunction {
    private final EarlyEnds ends;
    private final RpcCallContext who;

    Asked(EarlyEnds ends, RpcCallContext who) {
      this.ends = ends;
      this.who = who;
    }

    public boolean isDefinedAt(Object run) { return run instanceof String; }

    public Object applyOrElse(Object run, scala.Function1 otherwise) {
      if (!isDefinedAt(run)) return otherwise.apply(run);
      ends.asked((String) run, who);
      return BoxedUnit.UNIT;
    }
  }
}
