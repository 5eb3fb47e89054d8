package dev.jetsql.scheduling;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Reflection;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.SchedulableBuilder;
import org.apache.spark.scheduler.SchedulingAlgorithm;
import org.apache.spark.scheduler.SchedulingMode;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;
import scala.Enumeration;

/**
 * The pools of Spark's FAIR scheduler, which take turns.
 *
 * <p>The scheduler gives a free core to the pool with the fewest running tasks, and among equals to
 * the first in the alphabet. When more pools have tasks than there are cores, most of them run
 * none, and all these are equal: the first names take every core, and the last ones wait for as
 * long as the others are busy. Next to twelve busy jobs on one core, a SELECT took two minutes.
 * Here, among equals, the pool that has waited the longest for its turn is first.
 *
 * <p>The statements of an engine share the default pool, in which Spark finishes the oldest first,
 * so a long SELECT would hold up the others. Here they share the cores of the pool, unless a file
 * of settings says otherwise. The statements of each user of CREATE USER have a pool of their own,
 * see {@link UserPools}.
 */
public final class FairPools implements SchedulableBuilder {
  /** The local property of a thread with the name of its pool. */
  public static final String POOL = "spark.scheduler.pool";

  private static final String DEFAULT = "default";
  private static final String USER = "user ";

  private final Pool root;
  private long turns;

  FairPools(Pool root) {
    this.root = root;
  }

  /**
   * Installs the pools if Spark schedules FAIR; further calls have no effect. The field is private:
   * Spark's scheduler makes one of two builders of its own.
   */
  public static void install(SparkContext context) throws ReflectiveOperationException {
    if (!(context.taskScheduler() instanceof TaskSchedulerImpl scheduler)) return;
    if (!scheduler.rootPool().schedulingMode().equals(SchedulingMode.FAIR())) return;
    var builder = Reflection.field(TaskSchedulerImpl.class, "schedulableBuilder");
    synchronized (scheduler) { // as Spark does before it reads or changes pools
      if (builder.get(scheduler) instanceof FairPools) return;
      var pools = new FairPools(scheduler.rootPool());
      pools.buildPools();
      builder.set(scheduler, pools);
    }
  }

  /** Returns the pool of a user. */
  static String ofUser(String user) {
    return USER + user;
  }

  /** Returns whether a pool is one of a user; ids of jobs have no blank. */
  public static boolean isOfUser(String pool) {
    return pool.startsWith(USER);
  }

  @Override
  public Pool rootPool() {
    return root;
  }

  /** Replaces the pools that Spark has made, which hold its running tasks. */
  @Override
  public void buildPools() {
    takeTurns(root);
    for (Schedulable each : List.copyOf(root.schedulableQueue())) {
      var old = (Pool) each;
      root.removeSchedulable(old);
      var pool = new TurnPool(old.name(), mode(old), old.minShare(), old.weight(), true);
      old.schedulableQueue().forEach(pool::addSchedulable);
      pool.increaseRunningTasks(old.runningTasks()); // without a parent, which has counted them
      root.addSchedulable(pool);
    }
  }

  @Override
  public void addTaskSetManager(Schedulable manager, Properties properties) {
    String name = properties == null ? DEFAULT : properties.getProperty(POOL, DEFAULT);
    Schedulable pool = root.getSchedulableByName(name);
    if (pool == null) {
      var mode = isOfUser(name) ? SchedulingMode.FAIR() : SchedulingMode.FIFO();
      pool = new TurnPool(name, mode, 0, 1, false);
      root.addSchedulable(pool);
    }
    pool.addSchedulable(manager);
  }

  /**
   * Returns the mode of a pool of Spark; that of the statements is FAIR, unless it has settings.
   */
  private static Enumeration.Value mode(Pool pool) {
    boolean hasSettings = pool.minShare() != 0 || pool.weight() != 1;
    return pool.name().equals(DEFAULT) && !hasSettings
        ? SchedulingMode.FAIR()
        : pool.schedulingMode();
  }

  /** Sets a private field: Spark's pools have one of two algorithms of its own. */
  private static void takeTurns(Pool pool) {
    try {
      Reflection.field(Pool.class, "taskSetSchedulingAlgorithm").set(pool, new TakingTurns());
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /**
   * A pool that knows when it had its last turn. It exists while it has tasks, unless it is kept.
   */
  private final class TurnPool extends Pool {
    private final boolean isKept;
    private long turn = ++turns;

    TurnPool(String name, Enumeration.Value mode, int minShare, int weight, boolean isKept) {
      super(name, mode, minShare, weight);
      this.isKept = isKept;
      if (mode.equals(SchedulingMode.FAIR())) takeTurns(this);
    }

    @Override
    public void increaseRunningTasks(int tasks) {
      turn = ++turns;
      super.increaseRunningTasks(tasks);
    }

    @Override
    public void removeSchedulable(Schedulable manager) {
      super.removeSchedulable(manager);
      if (!isKept && schedulableQueue().isEmpty()) root.removeSchedulable(this);
    }
  }

  /** Spark's order of pools, but for equals. */
  private static final class TakingTurns implements SchedulingAlgorithm {
    private static final Comparator<Schedulable> ORDER =
        Comparator.comparing((Schedulable each) -> each.runningTasks() >= each.minShare())
            .thenComparingDouble(TakingTurns::share)
            .thenComparingLong(TakingTurns::turn)
            .thenComparingInt(Schedulable::priority) // the number of the Spark job
            .thenComparingInt(Schedulable::stageId);

    @Override
    public boolean comparator(Schedulable one, Schedulable other) {
      return ORDER.compare(one, other) < 0;
    }

    /**
     * Returns the running tasks for each task of the minimum, or above it for each unit of weight.
     */
    private static double share(Schedulable each) {
      double running = each.runningTasks();
      return running < each.minShare() ? running / each.minShare() : running / each.weight();
    }

    /** Returns a number that grows with each task. */
    private static long turn(Schedulable each) {
      if (each instanceof TurnPool pool) return pool.turn;
      return each instanceof TaskSetManager tasks ? tasks.tasksSuccessful() : 0;
    }
  }
}
