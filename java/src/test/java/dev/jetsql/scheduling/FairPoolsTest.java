package dev.jetsql.scheduling;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.SchedulingMode;
import org.apache.spark.scheduler.TaskSetManager;
import org.junit.jupiter.api.Test;
import scala.collection.mutable.ArrayBuffer;

class FairPoolsTest {
  private final Pool root = new Pool("", SchedulingMode.FAIR(), 0, 0);
  private final List<String> order = new ArrayList<>();

  /** The tasks of a Spark job, which note when the scheduler asks for them. */
  private final class Tasks extends Pool {
    Tasks(String name) {
      super(name, SchedulingMode.FIFO(), 0, 1);
    }

    @Override
    public ArrayBuffer<TaskSetManager> getSortedTaskSetQueue() {
      order.add(name());
      return super.getSortedTaskSetQueue();
    }
  }

  private FairPools pools() {
    var pools = new FairPools(root);
    pools.buildPools();
    return pools;
  }

  private static Properties in(String pool) {
    var properties = new Properties();
    properties.setProperty("spark.scheduler.pool", pool);
    return properties;
  }

  private Tasks add(FairPools pools, String pool) {
    var tasks = new Tasks(pool);
    pools.addTaskSetManager(tasks, in(pool));
    return tasks;
  }

  private List<String> order() {
    order.clear();
    var unused = root.getSortedTaskSetQueue();
    return List.copyOf(order);
  }

  private static void run(Tasks tasks) {
    tasks.increaseRunningTasks(1);
    tasks.decreaseRunningTasks(1);
  }

  @Test
  void equalPoolsTakeTurns() {
    var pools = pools();
    var b = add(pools, "b");
    var a = add(pools, "a");
    add(pools, "c");
    assertEquals(List.of("b", "a", "c"), order());
    run(b);
    assertEquals(List.of("a", "c", "b"), order());
    run(a);
    assertEquals(List.of("c", "b", "a"), order());
  }

  @Test
  void thePoolWithFewerRunningTasksIsFirst() {
    var pools = pools();
    add(pools, "a").increaseRunningTasks(2);
    add(pools, "b").increaseRunningTasks(1);
    assertEquals(List.of("b", "a"), order());
  }

  @Test
  void thePoolsOfAFileKeepTheirMinimumAndWeight() {
    root.addSchedulable(new Pool("heavy", SchedulingMode.FIFO(), 0, 4));
    root.addSchedulable(new Pool("needy", SchedulingMode.FIFO(), 2, 1));
    var pools = pools();
    add(pools, "heavy").increaseRunningTasks(3);
    add(pools, "light").increaseRunningTasks(1);
    var needy = add(pools, "needy");
    assertEquals(List.of("needy", "heavy", "light"), order());
    needy.increaseRunningTasks(2);
    assertEquals(List.of("heavy", "light", "needy"), order());
  }

  @Test
  void runningTasksMoveToTheNewPools() {
    var old = new Pool("default", SchedulingMode.FIFO(), 0, 1);
    root.addSchedulable(old);
    var tasks = new Tasks("running");
    old.addSchedulable(tasks);
    tasks.increaseRunningTasks(2);
    var pools = pools();
    add(pools, "a").increaseRunningTasks(1);
    assertEquals(List.of("a", "running"), order());
    assertEquals(3, root.runningTasks());
    tasks.decreaseRunningTasks(2);
    assertEquals(List.of("running", "a"), order());
    assertEquals(1, root.runningTasks());
  }

  @Test
  void statementsShareTheirPool() {
    root.addSchedulable(new Pool("default", SchedulingMode.FIFO(), 0, 1));
    var pools = pools();
    var first = new Tasks("first");
    pools.addTaskSetManager(first, null);
    first.increaseRunningTasks(1);
    pools.addTaskSetManager(new Tasks("second"), new Properties());
    assertEquals(List.of("second", "first"), order());
  }

  @Test
  void usersTakeTurnsAndSoDoTheStatementsOfEach() {
    root.addSchedulable(new Pool("default", SchedulingMode.FIFO(), 0, 1));
    var pools = pools();
    var heavy = addNamed(pools, "user ann", "ann's first");
    addNamed(pools, "user ann", "ann's second");
    addNamed(pools, "user bob", "bob's");
    heavy.increaseRunningTasks(3);
    assertEquals(List.of("bob's", "ann's second", "ann's first"), order());
  }

  private Tasks addNamed(FairPools pools, String pool, String name) {
    var tasks = new Tasks(name);
    pools.addTaskSetManager(tasks, in(pool));
    return tasks;
  }

  @Test
  void aPoolEndsWithItsLastTasks() {
    root.addSchedulable(new Pool("default", SchedulingMode.FIFO(), 0, 1));
    var pools = pools();
    var one = add(pools, "a");
    var other = add(pools, "a");
    root.getSchedulableByName("a").removeSchedulable(one);
    assertTrue(root.schedulableNameToSchedulable().containsKey("a"));
    root.getSchedulableByName("a").removeSchedulable(other);
    assertFalse(root.schedulableNameToSchedulable().containsKey("a"));
    assertEquals(1, root.schedulableQueue().size());
  }
}
