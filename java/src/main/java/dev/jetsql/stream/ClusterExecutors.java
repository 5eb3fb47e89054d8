package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.status.api.v1.ExecutorSummary;
import org.slf4j.LoggerFactory;

/**
 * The executors of the cluster, and reports to the engine whenever one is added, begins to leave or
 * is removed.
 *
 * <p>A report contains the current state of Spark's scheduler and not the content of an event: the
 * scheduler changes before its listeners are called, so that a later report never has an older
 * state. Only why an executor was removed comes from the event, see {@link Departures}. An excluded
 * executor, to which Spark temporarily assigns no tasks, counts as present.
 */
public final class ClusterExecutors extends SparkListener {
  /** An executor that is decommissioned runs at least a second longer. */
  private static final long POLL_MILLIS = 500;

  private static SparkContext watchedContext;
  private static Consumer<String> engine;
  private static Departures departures = new Departures();
  private static ScheduledExecutorService poll;
  private static String newestReport = "";

  private final Departures noted;

  private ClusterExecutors(Departures noted) {
    this.noted = noted;
  }

  /**
   * Reports {"members": ids, "leaving": ids, "left": ids, "cores": total} now and after every
   * change. The receiver replaces an earlier one.
   */
  public static synchronized void watch(SparkSession session, Consumer<String> receiver)
      throws JsonProcessingException {
    var context = session.sparkContext();
    engine = receiver;
    newestReport = "";
    if (watchedContext != context) {
      departures = new Departures();
      context.addSparkListener(new ClusterExecutors(departures));
    }
    watchedContext = context;
    if (hasMembers(context) && poll == null) poll = startPoll();
    report();
  }

  /** Stops the reports. */
  public static synchronized void unwatch() {
    engine = null;
  }

  @Override
  public void onExecutorAdded(SparkListenerExecutorAdded event) {
    PythonCalls.later(ClusterExecutors::reportChange);
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    PythonCalls.later(() -> reportRemoval(noted, event.executorId(), event.reason()));
  }

  /** Checks for changes regularly: the beginning of a departure has no event. */
  private static ScheduledExecutorService startPoll() {
    var thread = Executors.newSingleThreadScheduledExecutor(ClusterExecutors::createThread);
    var unused =
        thread.scheduleWithFixedDelay(
            ClusterExecutors::poll, POLL_MILLIS, POLL_MILLIS, TimeUnit.MILLISECONDS);
    return thread;
  }

  /** Creates a thread that inherits nothing from the caller. */
  private static Thread createThread(Runnable work) {
    var thread = new Thread(null, work, "jetsql-members", 0, false);
    thread.setDaemon(true);
    return thread;
  }

  private static void poll() {
    try {
      if (newReport() != null) PythonCalls.later(ClusterExecutors::reportChange);
    } catch (Exception e) {
      LoggerFactory.getLogger(ClusterExecutors.class)
          .warn("Cannot check for executors that leave", e);
    }
  }

  private static synchronized void reportRemoval(Departures noted, String id, String reason) {
    noted.remove(id, reason);
    reportChange();
  }

  private static void reportChange() {
    try {
      report();
    } catch (Exception e) {
      throw new IllegalStateException("Cannot report the executors to the engine", e);
    }
  }

  /**
   * Reports the current state if it has changed. The lock prevents an older state from being
   * reported after a newer one.
   */
  private static synchronized void report() throws JsonProcessingException {
    String report = newReport();
    if (report == null) return;
    newestReport = report;
    engine.accept(report);
  }

  /** Returns the current state as JSON, or null if it is the reported one or no engine watches. */
  private static synchronized String newReport() throws JsonProcessingException {
    if (engine == null || watchedContext.isStopped()) return null;
    String report = Json.MAPPER.writeValueAsString(state(watchedContext));
    return report.equals(newestReport) ? null : report;
  }

  private static ObjectNode state(SparkContext context) {
    ObjectNode state = Json.MAPPER.createObjectNode();
    if (!hasMembers(context)) {
      state.putArray("members").add("driver");
      state.putArray("leaving");
      state.putArray("left");
      return state.put("cores", context.defaultParallelism());
    }
    departures.update(
        asJava(context.getExecutorIds()),
        id -> isLeaving(context, id),
        TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
    state.set("members", ids(departures.present()));
    state.set("leaving", ids(departures.leaving()));
    state.set("left", ids(departures.left()));
    // Spark counts the cores of leaving executors in its parallelism, which the user can have set.
    return state.put("cores", Math.min(parallelTasks(context), context.defaultParallelism()));
  }

  /**
   * Returns whether the executors are members; in local mode and with dynamic allocation, only the
   * driver is one.
   */
  private static boolean hasMembers(SparkContext context) {
    return !context.isLocal() && context.executorAllocationManager().isEmpty();
  }

  private static boolean isLeaving(SparkContext context, String id) {
    return context.taskScheduler().getExecutorDecommissionState(id).isDefined();
  }

  private static ArrayNode ids(Collection<String> executors) {
    ArrayNode ids = Json.MAPPER.createArrayNode();
    executors.forEach(ids::add);
    return ids;
  }

  /** Returns the number of tasks that can run in parallel now, without executors that leave. */
  static int parallelTasks(SparkContext context) {
    return context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile());
  }

  /**
   * Returns all executors as a JSON array, including the removed ones. Times are in milliseconds
   * since the epoch; `removed` is 0 for an executor that is present. `planned` says that an
   * executor leaves or has left as planned.
   */
  public static synchronized String list(SparkSession session) throws JsonProcessingException {
    ArrayNode list = Json.MAPPER.createArrayNode();
    var context = session.sparkContext();
    for (ExecutorSummary executor : asJava(context.statusStore().executorList(false))) {
      list.add(summary(context, executor));
    }
    return Json.MAPPER.writeValueAsString(list);
  }

  @SuppressWarnings("JavaUtilDate") // the type of the times in ExecutorSummary
  private static ObjectNode summary(SparkContext context, ExecutorSummary executor) {
    String reason = executor.removeReason().isEmpty() ? "" : executor.removeReason().get();
    ObjectNode node = Json.MAPPER.createObjectNode();
    node.put("id", executor.id());
    node.put("address", executor.hostPort());
    Map<String, String> attributes = asJava(executor.attributes());
    node.put("pod", attributes.getOrDefault(ExecutorPodNames.POD, ""));
    node.put("node", attributes.getOrDefault(ExecutorPodNames.NODE, ""));
    node.put("cores", executor.totalCores());
    node.put("active", executor.isActive());
    node.put("excluded", executor.isExcluded());
    node.put(
        "planned",
        executor.isActive()
            ? isLeaving(context, executor.id())
            : departures.hasLeft(executor.id(), reason));
    node.put("added", executor.addTime().getTime());
    node.put(
        "removed", executor.removeTime().isEmpty() ? 0L : executor.removeTime().get().getTime());
    node.put("reason", reason);
    node.put("active_tasks", executor.activeTasks());
    node.put("completed_tasks", executor.completedTasks());
    node.put("failed_tasks", executor.failedTasks());
    node.put("memory", executor.maxMemory());
    return node;
  }
}
