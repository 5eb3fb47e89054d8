package dev.jetsql.watchdog;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import com.sun.management.ThreadMXBean;
import dev.jetsql.scheduling.FairPools;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/**
 * What the tasks of each owner use: the memory that the running tasks have allocated, and the bytes
 * that tasks have written to disks. An owner is the id of a job, or empty for all that is not a
 * job's, such as the statements of clients.
 *
 * <p>A task retains at most what it has allocated since its start, which the JVM counts for each
 * thread. So the running tasks with the highest counts can have filled the heap, and a job whose
 * tasks are short cannot, however much garbage it makes.
 */
final class TaskUsage extends SparkListener {
  static final String NO_JOB = "";

  /** The property in which each run of a job has the job's id, see `run_context.py`. */
  private static final Pattern TASK_THREAD =
      Pattern.compile("in stage (\\d+)\\.\\d+ \\(TID (\\d+)\\)");

  private static final int STAGES_MOST = 10000;
  private static final List<String> WRITTEN =
      List.of(
          "internal.metrics.diskBytesSpilled",
          "internal.metrics.shuffle.write.bytesWritten",
          "internal.metrics.output.bytesWritten");

  private final SparkContext context;
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final Map<Integer, String> ownersOfStages = new ConcurrentHashMap<>();
  private final Map<String, Long> writtenByEnded = new ConcurrentHashMap<>();
  private final Map<Long, Running> running = new ConcurrentHashMap<>();

  /** The accumulators of what the tasks of a stage write. Heartbeats have no names of metrics. */
  private final Map<Integer, Set<Long>> accumulators = new ConcurrentHashMap<>();

  private Map<Long, Sample> samples = new HashMap<>();

  /** What a running task has written, as its last heartbeat reported. */
  private record Running(String owner, long written) {}

  /**
   * A thread at the last poll.
   *
   * @param task the id of its task, or -1
   * @param base the bytes that it had allocated when the task began
   * @param allocated the bytes that it had allocated at the poll
   */
  private record Sample(long task, long base, long allocated) {}

  TaskUsage(SparkContext context) {
    this.context = context;
  }

  /**
   * Returns the bytes that the running tasks of each owner have allocated since they began, and
   * remembers the threads. A task that began after the last call counts from that call.
   */
  synchronized Map<String, Long> pollAllocated() {
    Map<Long, Sample> now = new HashMap<>();
    Map<String, Long> allocated = new HashMap<>();
    for (Thread thread : liveThreads()) {
      if (thread == null) continue;
      long id = thread.getId();
      Matcher task = TASK_THREAD.matcher(thread.getName());
      boolean runs = task.find();
      Sample before = samples.get(id);
      if (!runs && before == null && !thread.getName().startsWith("Executor task")) continue;
      long bytes = threads.getThreadAllocatedBytes(id);
      if (bytes < 0) continue; // it has ended
      long number = runs ? Long.parseLong(task.group(2)) : -1;
      long base = before == null ? 0 : before.task == number ? before.base : before.allocated;
      now.put(id, new Sample(number, base, bytes));
      if (runs)
        allocated.merge(ownerOfStage(Integer.parseInt(task.group(1))), bytes - base, Long::sum);
    }
    samples = now;
    return allocated;
  }

  /** Returns the number of running tasks of each owner in this process. */
  synchronized Map<String, Long> countRunning() {
    Map<String, Long> counts = new HashMap<>();
    for (Thread thread : liveThreads()) {
      if (thread == null) continue;
      Matcher task = TASK_THREAD.matcher(thread.getName());
      if (task.find()) counts.merge(ownerOfStage(Integer.parseInt(task.group(1))), 1L, Long::sum);
    }
    return counts;
  }

  /** Returns the bytes that all tasks of each owner have spilled, shuffled and written to files. */
  Map<String, Long> written() {
    Map<String, Long> written = new HashMap<>(writtenByEnded);
    running.values().forEach(task -> written.merge(task.owner, task.written, Long::sum));
    return written;
  }

  private String ownerOfStage(int stage) {
    return ownersOfStages.getOrDefault(stage, NO_JOB);
  }

  private static Thread[] liveThreads() {
    ThreadGroup group = Thread.currentThread().getThreadGroup();
    while (group.getParent() != null) group = group.getParent();
    var found = new Thread[group.activeCount() + 64];
    group.enumerate(found, true);
    return found;
  }

  @Override
  public void onJobStart(SparkListenerJobStart event) {
    Properties properties = event.properties();
    String pool = properties == null ? null : properties.getProperty(FairPools.POOL);
    if (ownersOfStages.size() > STAGES_MOST) ownersOfStages.clear();
    for (Object stage : asJava(event.stageIds())) {
      if (pool == null) ownersOfStages.remove((Integer) stage);
      else ownersOfStages.put((Integer) stage, pool);
    }
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted event) {
    TaskMetrics metrics = event.stageInfo().taskMetrics();
    if (metrics == null) return;
    Set<Long> ids = new HashSet<>();
    for (String name : WRITTEN) {
      var accumulator = metrics.nameToAccums().get(name);
      if (accumulator.isDefined()) ids.add(accumulator.get().id());
    }
    accumulators.put(event.stageInfo().stageId(), ids);
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted event) {
    accumulators.remove(event.stageInfo().stageId());
  }

  @Override
  public void onTaskStart(SparkListenerTaskStart event) {
    running.put(event.taskInfo().taskId(), new Running(ownerOfStage(event.stageId()), 0));
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd event) {
    running.remove(event.taskInfo().taskId());
    TaskMetrics metrics = event.taskMetrics();
    if (metrics == null) return;
    long bytes =
        metrics.diskBytesSpilled()
            + metrics.shuffleWriteMetrics().bytesWritten()
            + metrics.outputMetrics().bytesWritten();
    if (bytes > 0) writtenByEnded.merge(ownerOfStage(event.stageId()), bytes, Long::sum);
  }

  @Override
  public void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate event) {
    for (var task : asJava(event.accumUpdates())) {
      long bytes = 0;
      Set<Long> written = accumulators.getOrDefault(task._2(), Set.of());
      for (var update : asJava(task._4())) {
        if (written.contains(update.id())
            && update.update().isDefined()
            && update.update().get() instanceof Long value) bytes += value;
      }
      String owner = ownerOfStage((Integer) task._2());
      Running now = new Running(owner, bytes);
      running.computeIfPresent((Long) task._1(), (number, before) -> now);
    }
  }

  /** Stops listening. */
  void close() {
    if (!context.isStopped()) context.removeSparkListener(this);
  }
}
