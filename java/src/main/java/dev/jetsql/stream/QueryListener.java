package dev.jetsql.stream;

import dev.jetsql.triggers.TriggerClock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Reports the events of one session's query to the engine: ("progress", JSON), ("idle", time),
 * ("ended", ""), and ("wait", number) before the first of the triggers that began after a call of
 * `watch`. It reports an idle query once, and again after `watch`.
 *
 * <p>The time of a trigger does not show whether it began after a call, because the clock of the
 * machine can be set back. The order of Spark's events does: `watch` sends an event of its own.
 */
public final class QueryListener extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;

  private final transient BiConsumer<String, String> engine;
  private final transient Consumer<UUID> idle;
  private final transient SparkContext context;
  private final transient Queue<Mark> marks = new ArrayDeque<>();
  private boolean reportsIdle = true;
  private long newestWait; // of all calls of `watch`
  private long earlierWait; // the newest call before the next reported trigger began
  private long laterWait; // the same for the triggers after it
  private long reportedWait;

  /** The place of a call of `watch` in the order of events. */
  private record Mark(QueryIdleEvent event, long number, boolean isTriggerActive) {}

  /**
   * Creates it.
   *
   * @param idle gets the id of the query whenever it is idle
   */
  public QueryListener(
      BiConsumer<String, String> engine, Consumer<UUID> idle, SparkContext context) {
    this.engine = engine;
    this.idle = idle;
    this.context = context;
  }

  /**
   * Reports the first trigger that begins after this call, also if it is idle. Earlier triggers are
   * reported as well, but may have missed rows that the caller waits for.
   *
   * @param number the number of the call, which increases
   */
  public void watch(StreamingQuery query, long number) {
    // Spark sends the event of a trigger before it sets the status to inactive.
    boolean isActive = query.status().isTriggerActive();
    var event = new QueryIdleEvent(query.id(), query.runId(), Instant.now().toString());
    synchronized (this) {
      reportsIdle = true;
      newestWait = Math.max(newestWait, number);
      marks.add(new Mark(event, number, isActive));
    }
    context.listenerBus().post(event);
    TriggerClock.wake(query);
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    synchronized (this) {
      reportsIdle = true;
    }
    reportWait();
    engine.accept("progress", event.progress().json());
  }

  @Override
  public void onQueryIdle(QueryIdleEvent event) {
    if (isMark(event)) return;
    idle.accept(event.id());
    long begunAfter = reportWait();
    synchronized (this) {
      if (!reportsIdle) return;
      reportsIdle = begunAfter < newestWait;
    }
    engine.accept("idle", event.timestamp());
  }

  private synchronized boolean isMark(QueryIdleEvent event) {
    if (marks.isEmpty() || marks.peek().event() != event) return false;
    Mark mark = marks.remove();
    laterWait = Math.max(laterWait, mark.number());
    if (!mark.isTriggerActive()) earlierWait = laterWait;
    return true;
  }

  /** Returns the number of the newest call of `watch` before a trigger began; reports a new one. */
  private long reportWait() {
    long begunAfter;
    boolean isNew;
    synchronized (this) {
      begunAfter = earlierWait;
      isNew = begunAfter != reportedWait;
      reportedWait = begunAfter;
      earlierWait = laterWait;
    }
    if (isNew) engine.accept("wait", Long.toString(begunAfter));
    return begunAfter;
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {
    engine.accept("ended", "");
  }
}
