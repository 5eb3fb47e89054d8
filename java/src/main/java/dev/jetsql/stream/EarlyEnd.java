package dev.jetsql.stream;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkEnv$;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.RpcTimeout;
import org.apache.spark.util.RpcUtils;
import org.apache.spark.util.ThreadUtils;
import scala.concurrent.duration.FiniteDuration$;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import scala.util.Try;

/**
 * Whether the batch of a run is to end before its time, as a member knows it: it asks the driver once (`EarlyEnds`), whose
 * answer comes when that is so.
 */
class EarlyEnd extends AbstractFunction1 {
  private static final String NAME = "jetsql-early-ends";
  private static final RpcTimeout LONG = new RpcTimeout(FiniteDuration$.MODULE$.apply(365L, TimeUnit.DAYS), "none");
  private static final Map RUNS = new HashMap();

  private final String run;
  private volatile boolean come;

  private EarlyEnd(String run) { this.run = run; }

  static EarlyEnd of(String run) {
    synchronized (RUNS) {
      EarlyEnd known = (EarlyEnd) RUNS.get(run);
      if (known != null) return known;
      EarlyEnd asking = new EarlyEnd(run);
      try {
        RUNS.put(run, asking);
        asking.ask();
        return asking;
      } catch (Throwable e) {
        RUNS.remove(run);
        throw new IllegalStateException("The driver can't be asked when a batch is to end", e);
      }
    }
  }

  private void ask() throws Throwable {
    SparkConf conf = (SparkConf) ofEnv("conf", SparkConf.class);
    RpcEndpointRef driver = RpcUtils.makeDriverRef(NAME, conf, (RpcEnv) ofEnv("rpcEnv", RpcEnv.class));
    driver.ask(run, LONG, ClassTag$.MODULE$.apply(Object.class)).onComplete(this, ThreadUtils.sameThread());
  }

  /** By name: to compile a call, all methods would be looked at, and some name classes that Spark does not bring along. */
  private static Object ofEnv(String name, Class type) throws Throwable {
    MethodHandle method = MethodHandles.publicLookup().findVirtual(SparkEnv.class, name, MethodType.methodType(type));
    return method.invokeWithArguments(new Object[] {SparkEnv$.MODULE$.get()});
  }

  boolean hasCome() { return come; }

  /** The answer; a failure where the driver can't be reached any more, and the next reader asks anew. */
  public Object apply(Object answer) {
    synchronized (RUNS) {
      RUNS.remove(run);
    }
    come = ((Try) answer).isSuccess();
    return BoxedUnit.UNIT;
  }
}
