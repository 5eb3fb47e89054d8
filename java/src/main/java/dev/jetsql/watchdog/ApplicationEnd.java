package dev.jetsql.watchdog;

import dev.jetsql.common.PythonCalls;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.util.ShutdownHookManager;
import org.slf4j.LoggerFactory;

/**
 * Reports to the engine that Spark's application has ended, although the engine has not stopped it:
 * the cluster has ended it, or Spark itself after an error of its scheduler.
 */
public final class ApplicationEnd extends SparkListener {
  private static ApplicationEnd instance;

  private final SparkContext context;
  private final Consumer<String> engine;
  private final EndReasons reasons = new EndReasons();
  private final AtomicBoolean isReported = new AtomicBoolean();

  private ApplicationEnd(SparkContext context, Consumer<String> engine) {
    this.context = context;
    this.engine = engine;
  }

  /**
   * Watches the session's Spark until `unwatch`.
   *
   * @param engine receives why the application has ended, once; an empty text if Spark says nothing
   */
  public static synchronized void watch(SparkSession session, Consumer<String> engine) {
    unwatch();
    var context = session.sparkContext();
    instance = new ApplicationEnd(context, engine);
    instance.reasons.attach();
    try {
      context.addSparkListener(instance);
    } catch (IllegalStateException e) { // Spark has stopped, which the next line reports
      LoggerFactory.getLogger(ApplicationEnd.class).info("Spark takes no listener any more", e);
    }
    if (context.isStopped()) instance.report();
  }

  /** Ends the watch: the engine stops Spark from now on. */
  public static synchronized void unwatch() {
    if (instance == null) return;
    instance.reasons.detach();
    if (!instance.context.isStopped()) instance.context.removeSparkListener(instance);
    instance = null;
  }

  /**
   * Returns whether the watched application ends, also before its end is reported: jobs fail from
   * the reason on.
   */
  public static synchronized boolean isEnding() {
    return instance != null && (!instance.reasons.text().isEmpty() || instance.context.isStopped());
  }

  @Override
  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    report();
  }

  private void report() {
    // A signal ends the whole process, which the engine notices by itself.
    if (ShutdownHookManager.inShutdown() || isReported.getAndSet(true)) return;
    PythonCalls.later(this::deliver);
  }

  private void deliver() {
    synchronized (ApplicationEnd.class) {
      if (instance != this) return; // the engine stops Spark by now
    }
    engine.accept(reasons.text());
  }
}
