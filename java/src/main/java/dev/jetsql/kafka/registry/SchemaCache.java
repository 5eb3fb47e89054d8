package dev.jetsql.kafka.registry;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * The schemas of registries in this process, bounded. The schema of an id and the id of a schema
 * never change. The newest version of a subject is requested again after some seconds, like a
 * schema whose id is unknown.
 */
final class SchemaCache {
  private static final int MAX = 1000;
  private static final long NANOS = Duration.ofSeconds(5).toNanos();

  private final Map<List<Object>, Entry> entries =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, Entry> eldest) {
          return size() > MAX;
        }
      };

  private record Entry(Object value, long expires, boolean isFixed) {
    boolean isValid() {
      return isFixed || System.nanoTime() - expires < 0;
    }
  }

  @SuppressWarnings("unchecked") // the name of the registry contains the type of its schemas
  <S> SchemaRegistry.Registered<S> byId(
      String registry, int id, Supplier<SchemaRegistry.Registered<S>> fetch) {
    return (SchemaRegistry.Registered<S>) get(List.of(registry, id), fetch, true);
  }

  @SuppressWarnings("unchecked") // see byId
  <S> SchemaRegistry.Registered<S> version(
      String registry,
      String subject,
      String version,
      Supplier<SchemaRegistry.Registered<S>> fetch) {
    var key = List.<Object>of(registry, subject, "version", version);
    return (SchemaRegistry.Registered<S>) get(key, fetch, !version.equals("latest"));
  }

  int registered(String registry, String subject, String schema, IntSupplier fetch) {
    Supplier<Object> register =
        () -> {
          int id = fetch.getAsInt();
          synchronized (entries) { // the next read needs this version
            entries.remove(List.<Object>of(registry, subject, "version", "latest"));
          }
          return id;
        };
    return (int) get(List.of(registry, subject, "schema", schema), register, true);
  }

  private Object get(List<Object> key, Supplier<?> fetch, boolean isFixed) {
    synchronized (entries) {
      Entry entry = entries.get(key);
      if (entry != null && entry.isValid()) return entry.value();
    }
    Object value = fetch.get(); // without the lock: tasks with other schemas need not wait
    if (value == null && key.size() > 2) return null; // the user may add the version immediately
    synchronized (entries) {
      boolean isUsable =
          value instanceof SchemaRegistry.Registered<?> found
              ? found.schema() != null
              : value != null;
      entries.put(key, new Entry(value, System.nanoTime() + NANOS, isFixed && isUsable));
    }
    return value;
  }
}
