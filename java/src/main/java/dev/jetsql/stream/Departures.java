package dev.jetsql.stream;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.spark.scheduler.ExecutorDecommission;

/**
 * The executors of a cluster, and which of them leave as planned.
 *
 * <p>Spark has no event for the beginning of a decommissioning, and its scheduler forgets the state
 * of an executor with the executor. The reason of a removal names the decommissioning, unless Spark
 * itself has killed an executor that took too long. So this class keeps what it has seen, and an
 * executor that the scheduler no longer knows counts as present until its removal is explained: a
 * planned departure must not count as a loss.
 */
final class Departures {
  /** How long the explanation of a removal is awaited; Spark drops events when it has too many. */
  private static final long EXPLANATION_MILLIS = 5_000;

  private static final int MOST_LEFT = 1_000;

  private final Set<String> present = new TreeSet<>();
  private final Set<String> leaving = new TreeSet<>();
  private final Set<String> left = new LinkedHashSet<>();
  private final Map<String, Long> unexplained = new HashMap<>();

  /**
   * Notes the executors that the scheduler knows now.
   *
   * @param isLeaving whether the scheduler decommissions an executor
   * @param now milliseconds of any clock
   */
  void update(Collection<String> executors, Predicate<String> isLeaving, long now) {
    for (String id : executors) {
      present.add(id);
      unexplained.remove(id);
      if (isLeaving.test(id)) leaving.add(id);
    }
    for (String id : Set.copyOf(present)) {
      if (executors.contains(id)) continue;
      long since = unexplained.computeIfAbsent(id, unused -> now);
      if (now - since >= EXPLANATION_MILLIS) remove(id, "");
    }
  }

  /** Notes that Spark has removed an executor. reason: that of its event. */
  void remove(String id, String reason) {
    present.remove(id);
    unexplained.remove(id);
    boolean wasLeaving = leaving.remove(id);
    if (!wasLeaving && !isPlanned(reason)) return;
    left.add(id);
    if (left.size() > MOST_LEFT) left.remove(left.iterator().next());
  }

  /** Returns whether the reason of a removal is that the executor was decommissioned. */
  private static boolean isPlanned(String reason) {
    return reason.startsWith(ExecutorDecommission.msgPrefix());
  }

  /** Returns whether a removed executor left as planned. reason: that of its removal. */
  boolean hasLeft(String id, String reason) {
    return left.contains(id) || isPlanned(reason);
  }

  /** Returns the ids of the executors that are present. */
  Set<String> present() {
    return present;
  }

  /** Returns the ids of the present executors that are leaving as planned. */
  Set<String> leaving() {
    return leaving;
  }

  /** Returns the ids of the executors that have left as planned, at most the newest thousand. */
  Set<String> left() {
    return left;
  }
}
