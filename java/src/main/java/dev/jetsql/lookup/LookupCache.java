package dev.jetsql.lookup;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** The rows of a lookup that an executor keeps, by key. A key without rows counts as one row. */
final class LookupCache {
  private static final Cache<String, LookupCache> CACHES =
      CacheBuilder.newBuilder().expireAfterAccess(Duration.ofHours(1)).build();
  private static final LookupCache NONE = new LookupCache(null);

  private final Cache<UnsafeRow, List<UnsafeRow>> rows;

  private LookupCache(Cache<UnsafeRow, List<UnsafeRow>> rows) {
    this.rows = rows;
  }

  /** Returns the cache of this process for a lookup; one that keeps nothing without a TTL. */
  static LookupCache of(LookupPlan lookup) {
    if (lookup.options().ttlMillis() == 0) return NONE;
    try {
      return CACHES.get(lookup.options() + lookup.identity(), () -> create(lookup.options()));
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }

  private static LookupCache create(LookupOptions options) {
    return new LookupCache(
        CacheBuilder.newBuilder()
            .maximumWeight(options.cacheRows())
            .weigher((UnsafeRow key, List<UnsafeRow> rows) -> Math.max(1, rows.size()))
            .expireAfterWrite(Duration.ofMillis(options.ttlMillis()))
            .build());
  }

  /** Returns the rows of a key, or null if they have to be read. */
  List<UnsafeRow> get(UnsafeRow key) {
    return rows == null ? null : rows.getIfPresent(key);
  }

  void put(UnsafeRow key, List<UnsafeRow> found) {
    if (rows != null) rows.put(key, found);
  }
}
