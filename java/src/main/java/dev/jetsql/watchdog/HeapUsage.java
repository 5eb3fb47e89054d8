package dev.jetsql.watchdog;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import javax.management.ListenerNotFoundException;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;

/**
 * The part of the heap that is still in use after a garbage collection: that of the old generation,
 * in which all that is retained ends. Its usage between collections says little, because it
 * contains garbage.
 */
final class HeapUsage {
  private static final String G1_FULL = "G1 Old Generation";

  private final MemoryPoolMXBean pool;
  private final NotificationListener listener;
  private long newestUse;
  private long fullCollections;
  private boolean isExact;

  /**
   * Calls the listener when a collection has left more than a share of the pool.
   *
   * @param share from 0 to 1
   */
  HeapUsage(double share, Runnable onExceeded) {
    pool = oldGeneration();
    listener = (notification, handback) -> onExceeded.run();
    if (pool == null) return;
    pool.setCollectionUsageThreshold((long) (share * limit()));
    emitter().addNotificationListener(listener, null, null);
  }

  private static MemoryPoolMXBean oldGeneration() {
    return ManagementFactory.getMemoryPoolMXBeans().stream()
        .filter(pool -> pool.getType() == MemoryType.HEAP)
        .filter(pool -> pool.isUsageThresholdSupported())
        .filter(pool -> pool.isCollectionUsageThresholdSupported())
        .filter(pool -> pool.getUsage().getMax() > 0)
        .findFirst()
        .orElse(null);
  }

  private static NotificationEmitter emitter() {
    return (NotificationEmitter) ManagementFactory.getMemoryMXBean();
  }

  /** Returns the bytes that the newest collection has left in the pool. */
  long used() {
    MemoryUsage usage = pool == null ? null : pool.getCollectionUsage();
    long used = usage == null ? 0 : usage.getUsed();
    if (used != newestUse) {
      long full = countFullCollections();
      isExact = full < 0 || full > fullCollections;
      fullCollections = full;
      newestUse = used;
    }
    return used;
  }

  /** Returns the number of G1's full collections; -1 for another collector. */
  private static long countFullCollections() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .filter(collector -> collector.getName().equals(G1_FULL))
        .mapToLong(collector -> collector.getCollectionCount())
        .findFirst()
        .orElse(-1);
  }

  /** Returns `used` without garbage. Most collections of G1 leave garbage in the old generation. */
  long usedExactly() {
    used();
    if (!isExact) System.gc();
    return used();
  }

  /** Returns the size that the pool can have, in bytes. */
  long limit() {
    return pool == null ? 0 : pool.getUsage().getMax();
  }

  void close() {
    if (pool == null) return;
    pool.setCollectionUsageThreshold(0);
    try {
      emitter().removeNotificationListener(listener);
    } catch (ListenerNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }
}
