package dev.jetsql.endpoints;

import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Limits the connections to the ports of executors as `SparkLogins` does. Spark loads it by the
 * setting `spark.plugins`; without a cluster, the driver is the executor.
 */
public final class SparkLoginsPlugin implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return null;
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new OnExecutor();
  }

  private static final class OnExecutor implements ExecutorPlugin {
    @Override
    public void init(PluginContext context, Map<String, String> none) {
      try {
        SparkLogins.limit(SparkEnv.get());
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException("Error limiting the logins at the ports of an executor", e);
      }
    }
  }
}
