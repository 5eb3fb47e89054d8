package dev.jetsql.stream;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.runtime.AbstractPartialFunction;

/**
 * Has the readers of a query's topics wait for the next record in short pieces, see `ShortWaitReader`.
 *
 * The connector's reader is at the end of a chain (table, scan builder, scan, stream, factory), each link of which Spark
 * looks at for what it can do besides; so each is stood for by a proxy that can do all of the same.
 */
public class ShortWaits {
  /** run: whose batches end early when the driver says so of it (`EarlyEnd`). */
  public LogicalPlan of(LogicalPlan query, String run) { return (LogicalPlan) query.transformUp(new OnRelation(run)); }

  static class OnRelation extends AbstractPartialFunction {
    private final String run;

    OnRelation(String run) { this.run = run; }

    public boolean isDefinedAt(Object node) { return node instanceof StreamingRelationV2; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      StreamingRelationV2 read = (StreamingRelationV2) node;
      return read.copy(read.source(), read.sourceName(), (Table) around(read.table(), run), patient(read.extraOptions()),
          read.output(), read.catalog(), read.identifier(), read.v1Relation(), read.sourceIdentifyingName());
    }

    /** In batches the client's own wait is a short one, see `ConnectorOptions`. Here it would ask the broker all the time. */
    private static CaseInsensitiveStringMap patient(CaseInsensitiveStringMap options) {
      if (!options.containsKey("jetsql.short.wait")) return options;
      Map given = new HashMap(options.asCaseSensitiveMap());
      given.put("kafka.fetch.max.wait.ms", "500");
      return new CaseInsensitiveStringMap(given);
    }
  }

  private static Object around(Object real, String run) {
    Set interfaces = new LinkedHashSet();
    for (Class each = real.getClass(); each != null; each = each.getSuperclass()) {
      interfaces.addAll(Arrays.asList((Object[]) each.getInterfaces()));
    }
    Class[] types = (Class[]) interfaces.toArray(new Class[0]);
    return Proxy.newProxyInstance(real.getClass().getClassLoader(), types, new Link(real, run));
  }

  static class Link implements InvocationHandler, Supplier {
    private final Object real;
    private final String run;

    Link(Object real, String run) {
      this.real = real;
      this.run = run;
    }

    /** What it stands for. */
    public Object get() { return real; }

    public Object invoke(Object proxy, Method method, Object[] given) throws Throwable {
      String name = method.getName();
      if (name.equals("equals")) return Boolean.valueOf(proxy == given[0]);
      Object found;
      try {
        found = method.invoke(real, given);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
      if (name.equals("createReaderFactory")) return new ShortWaitFactory((PartitionReaderFactory) found, run);
      boolean next = name.equals("newScanBuilder") || name.equals("build") || name.equals("toMicroBatchStream");
      return next ? around(found, run) : found;
    }
  }
}
