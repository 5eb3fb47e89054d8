package dev.jetsql.stream;

import dev.jetsql.versions.CaseClasses;
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
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.PartialFunction;

/**
 * Replaces the readers of a query's Kafka sources by {@link EarlyEndingReader}.
 *
 * <p>The connector creates its reader at the end of a chain of objects (table, scan builder, scan,
 * stream, factory), and Spark checks each object for further interfaces. Therefore a proxy with all
 * interfaces of the object replaces each of them.
 */
public final class EarlyEndingSources {
  private EarlyEndingSources() {}

  /**
   * Returns the query with sources that end their batches when the driver ends the batches of the
   * run.
   */
  public static LogicalPlan wrap(LogicalPlan query, String run) {
    return query.transformUp(
        PartialFunction.fromFunction(
            node -> node instanceof StreamingRelationV2 source ? wrapSource(source, run) : node));
  }

  private static LogicalPlan wrapSource(StreamingRelationV2 source, String run) {
    var changes =
        Map.of(
            "table", proxy(source.table(), run),
            "extraOptions", withLongFetches(source.extraOptions()));
    return CaseClasses.copy(source, changes);
  }

  /**
   * Replaces the short fetches that `ConnectorOptions` sets for micro-batches by Kafka's default.
   * In real-time mode the client would send requests to the broker continuously.
   */
  static CaseInsensitiveStringMap withLongFetches(CaseInsensitiveStringMap options) {
    if (!options.containsKey("jetsql.short.wait")) return options;
    var changed = new HashMap<>(options.asCaseSensitiveMap());
    changed.put("kafka.fetch.max.wait.ms", "500");
    return new CaseInsensitiveStringMap(changed);
  }

  private static Object proxy(Object target, String run) {
    Set<Class<?>> interfaces = new LinkedHashSet<>();
    for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
      interfaces.addAll(Arrays.asList(type.getInterfaces()));
    }
    return Proxy.newProxyInstance(
        target.getClass().getClassLoader(),
        interfaces.toArray(new Class<?>[0]),
        new ProxyHandler(target, run));
  }

  /** The handler of a proxy. It supplies the object that the proxy replaces. */
  private static final class ProxyHandler implements InvocationHandler, Supplier<Object> {
    private final Object target;
    private final String run;

    ProxyHandler(Object target, String run) {
      this.target = target;
      this.run = run;
    }

    @Override
    public Object get() {
      return target;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      String name = method.getName();
      if (name.equals("equals")) return proxy == arguments[0];
      Object result = call(method, arguments);
      return switch (name) {
        case "createReaderFactory" ->
            new EarlyEndingReaderFactory((PartitionReaderFactory) result, run);
        case "newScanBuilder", "build", "toMicroBatchStream" -> proxy(result, run);
        default -> result;
      };
    }

    private Object call(Method method, Object[] arguments) throws Throwable {
      try {
        return method.invoke(target, arguments);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }
}
