package dev.jetsql.watchdog;

import dev.jetsql.common.Reflection;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.streaming.state.StateStore$;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;

/** The state stores that are loaded in this process. RocksDB opens files for each of them. */
final class StateStores {
  private static final Logger LOG = LoggerFactory.getLogger(StateStores.class);

  private StateStores() {}

  /** Returns the number of state stores of each owner, by the folders of the jobs. */
  static Map<String, Long> countByOwner(Map<String, List<String>> folders) {
    Map<String, Long> counts = new HashMap<>();
    for (StateStoreProviderId store : loaded()) {
      String location = pathOf(store.storeId().checkpointRootLocation());
      folders.forEach(
          (owner, paths) -> {
            if (paths.stream().anyMatch(location::startsWith)) counts.merge(owner, 1L, Long::sum);
          });
    }
    return counts;
  }

  /** Returns the path of a URI of a local file; another text unchanged. */
  static String pathOf(String location) {
    return location.startsWith("file:") ? location.replaceFirst("^file:/+", "/") : location;
  }

  /** Reads a private field, since Spark does not publish the stores. */
  private static List<StateStoreProviderId> loaded() {
    try {
      Field field = Reflection.field(StateStore$.class, "loadedProviders");
      var providers = (scala.collection.Map<?, ?>) field.get(StateStore$.MODULE$);
      synchronized (providers) {
        return CollectionConverters.asJava(providers.keySet()).stream()
            .map(StateStoreProviderId.class::cast)
            .toList();
      }
    } catch (ReflectiveOperationException e) {
      LOG.warn("The state stores of the jobs are not known", e);
      return List.of();
    }
  }
}
