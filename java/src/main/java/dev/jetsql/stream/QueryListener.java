package dev.jetsql.stream;

import java.time.Instant;
import java.util.function.BiConsumer;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Reports the events of one session's query to the engine: ("progress", JSON), ("idle", time),
 * ("ended", ""). It reports an idle query once, and again after `watchIdle`.
 */
public final class QueryListener extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;

  private final transient BiConsumer<String, String> engine;
  private boolean reportsIdle = true;
  private long watchedSinceMillis = 0;

  public QueryListener(BiConsumer<String, String> engine) {
    this.engine = engine;
  }

  /**
   * Reports idle triggers again, up to the first that begins after this call. Earlier triggers are
   * reported as well, but may have missed rows that the caller waits for.
   */
  public synchronized void watchIdle() {
    reportsIdle = true;
    watchedSinceMillis = System.currentTimeMillis() + 1;
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    synchronized (this) {
      reportsIdle = true;
    }
    engine.accept("progress", event.progress().json());
  }

  @Override
  public void onQueryIdle(QueryIdleEvent event) {
    synchronized (this) {
      if (!reportsIdle) return;
      reportsIdle = Instant.parse(event.timestamp()).toEpochMilli() < watchedSinceMillis;
    }
    engine.accept("idle", event.timestamp());
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {
    engine.accept("ended", "");
  }
}
