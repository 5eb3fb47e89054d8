package dev.jetsql.watchdog;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the heap, the open files and the disks of Spark's process, and reports to the engine when
 * one of them is scarce, with what each job uses of it. The engine decides what follows.
 *
 * <p>Collections of the heap wake its thread; the other resources are polled. Nothing is reported
 * while all is well. A report is a JSON object: resource, place, level, used and limit (of which
 * `used` is the free space of a disk), grown (what `amounts` have to explain), and amounts by
 * owner. The engine answers whether it suspends a job.
 */
public final class ResourceWatchdog {
  private static final Logger LOG = LoggerFactory.getLogger(ResourceWatchdog.class);
  private static final long POLL_MILLIS = 1000;
  private static final long SCARCE_POLL_MILLIS = 250;
  private static final long SECOND_NANOS = 1000L * 1000 * 1000;

  /** A job that is being suspended needs some time to end. */
  private static final long SUSPEND_NANOS = 10 * SECOND_NANOS;

  private static final long DANGER_NANOS = 2 * SECOND_NANOS;
  private static final long WARNING_NANOS = 60 * SECOND_NANOS;

  /** If Spark ends with a full heap, the newest report shows whose it was. */
  private static final long HEAP_WARNING_NANOS = SECOND_NANOS;

  private static final long COLLECTION_MILLIS = 3000;
  private static final long COLLECTION_PAUSE_NANOS = 30 * SECOND_NANOS;
  private static ResourceWatchdog instance;

  private final Predicate<String> engine;
  private final JsonNode settings;
  private final TaskUsage tasks;
  private final HeapUsage heap;
  private final List<DiskUsage> disks;
  private final FileReserve reserve = new FileReserve();
  private final SparkContext context;
  private final Map<String, List<String>> folders = new ConcurrentHashMap<>();
  private final Map<String, Report> reports = new HashMap<>();
  private final BlockingQueue<Boolean> wakeups = new ArrayBlockingQueue<>(1);
  private long judgedUse = -1;
  private long collectedAt;
  private volatile boolean isClosed;

  /** The newest report about a resource at a place, and when the next one of this level is due. */
  private record Report(Level level, long nextNanos) {}

  private ResourceWatchdog(SparkSession session, String settings, Predicate<String> engine)
      throws IOException {
    this.context = session.sparkContext();
    this.engine = engine;
    this.settings = Json.read(settings);
    this.tasks = new TaskUsage(context);
    this.disks = distinctDisks(Json.texts(this.settings.get("folders")));
    for (DiskUsage disk : disks) disk.poll(System.nanoTime(), Map.of());
    this.heap = new HeapUsage(percent("heap_warning_percent") / 100, this::wake);
  }

  /** Starts a watchdog for the session's Spark. It replaces an earlier one. */
  public static synchronized void start(
      SparkSession session, String settings, Predicate<String> engine) throws IOException {
    stop();
    instance = new ResourceWatchdog(session, settings, engine);
    instance.context.addSparkListener(instance.tasks);
    var thread = new Thread(null, instance::run, "resource-watchdog", 0, false);
    thread.setDaemon(true);
    thread.start();
  }

  /** Stops the watchdog. */
  public static synchronized void stop() {
    if (instance == null) return;
    instance.isClosed = true;
    instance.wake();
    instance.tasks.close();
    instance.heap.close();
    instance = null;
  }

  /** Counts open files below these folders, which end with a slash, as those of a job. */
  public static synchronized void watchJob(String job, String folders) {
    if (instance != null) instance.folders.put(job, Json.readTexts(folders));
  }

  private static List<DiskUsage> distinctDisks(List<String> folders) throws IOException {
    List<DiskUsage> disks = new ArrayList<>();
    for (String folder : folders) {
      Path path = Path.of(folder);
      boolean isNew = true;
      for (DiskUsage disk : disks) isNew = isNew && !disk.has(path);
      if (isNew) disks.add(new DiskUsage(path));
    }
    return disks;
  }

  private void wake() {
    wakeups.offer(true);
  }

  private void run() {
    long pause = POLL_MILLIS;
    while (waitFor(pause) && !context.isStopped()) {
      try {
        pause = check() ? SCARCE_POLL_MILLIS : POLL_MILLIS;
      } catch (Exception | Error e) { // Java throws an InternalError if it can open no file
        checkWithReserve();
      }
    }
    reserve.release();
  }

  /** Repeats a check that has failed, perhaps because this process may open no more files. */
  private void checkWithReserve() {
    try {
      reserve.release();
      check();
    } catch (Exception | Error e) {
      LOG.warn("The resources of the engine could not be checked", e);
    } finally {
      reserve.fill();
    }
  }

  /** Waits, and returns whether the watchdog continues. */
  private boolean waitFor(long millis) {
    try {
      wakeups.poll(millis, TimeUnit.MILLISECONDS);
      return !isClosed;
    } catch (InterruptedException e) {
      return false;
    }
  }

  /** Checks all resources, and returns whether the heap is scarce. */
  private boolean check() throws IOException {
    long now = System.nanoTime();
    Map<String, Long> allocated = tasks.pollAllocated();
    Level ofHeap = checkHeap(now, allocated);
    checkFiles(now);
    for (DiskUsage disk : disks) checkDisk(now, disk);
    return ofHeap != Level.NORMAL;
  }

  private Level checkHeap(long now, Map<String, Long> allocated) {
    long used = heap.used();
    long limit = heap.limit();
    Level level = levelOfHeap(used, limit);
    if (level == Level.DANGER) {
      used = heap.usedExactly();
      level = levelOfHeap(used, limit);
    }
    // A danger is judged once after each collection: the usage remains the same until the next one.
    if (level == Level.DANGER && used == judgedUse) {
      collectLater(now);
    } else if (isDue("memory", "", level, now)) {
      report("memory", "", level, now, used, limit, used, allocated);
      judgedUse = level == Level.DANGER ? used : -1;
    }
    return level;
  }

  private Level levelOfHeap(long used, long limit) {
    return Level.ofUse(
        used, limit, percent("heap_warning_percent"), percent("heap_danger_percent"));
  }

  /** Collects the heap after some seconds, to find out whether it is still in danger. */
  private void collectLater(long now) {
    if (now - collectedAt < COLLECTION_PAUSE_NANOS) return;
    collectedAt = now;
    var thread =
        new Thread(
            () -> {
              try {
                Thread.sleep(COLLECTION_MILLIS);
              } catch (InterruptedException e) {
                return;
              }
              System.gc();
            },
            "resource-watchdog-collection");
    thread.setDaemon(true);
    thread.start();
  }

  private void checkFiles(long now) throws IOException {
    long count = OpenFiles.count();
    long limit = OpenFiles.limit();
    Level level =
        Level.ofUse(
            count,
            limit,
            percent("open_files_warning_percent"),
            percent("open_files_danger_percent"));
    if (limit == 0 || !isDue("open files", "", level, now)) return;
    Map<String, Long> amounts = Map.of();
    if (level != Level.NORMAL) {
      List<String> temporary = Json.texts(settings.get("temporary"));
      amounts =
          OpenFiles.byOwner(
              folders, temporary, tasks.countRunning(), StateStores.countByOwner(folders));
    }
    report("open files", "", level, now, count, limit, count, amounts);
  }

  private void checkDisk(long now, DiskUsage disk) throws IOException {
    Map<String, Long> written = tasks.written();
    long free = disk.poll(now, written);
    Level level =
        Level.ofRest(
            free,
            settings.get("disk_warning_bytes").asLong(),
            settings.get("disk_danger_bytes").asLong());
    String place = disk.folder().toString();
    if (!isDue("disk", place, level, now)) return;
    Map<String, Long> amounts = disk.writtenLately(written);
    if (level != Level.NORMAL) {
      OpenFiles.bytesByOwner(folders, disk)
          .forEach((job, bytes) -> amounts.merge(job, bytes, Long::sum));
    }
    report("disk", place, level, now, free, disk.total(), disk.fallen(free), amounts);
  }

  /** Returns whether a level has to be reported. */
  private boolean isDue(String resource, String place, Level level, long now) {
    Report last = reports.get(resource + place);
    if (last == null || last.level != level) return last != null || level != Level.NORMAL;
    return level != Level.NORMAL && now >= last.nextNanos;
  }

  private void report(
      String resource,
      String place,
      Level level,
      long now,
      long used,
      long limit,
      long grown,
      Map<String, Long> amounts) {
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("resource", resource);
    report.put("place", place);
    report.put("level", level.name().toLowerCase(java.util.Locale.ROOT));
    report.put("used", used);
    report.put("limit", limit);
    report.put("grown", grown);
    report.put("amounts", amounts);
    boolean suspends = engine.test(Json.write(report));
    reports.put(resource + place, new Report(level, now + pause(resource, level, suspends)));
  }

  /** Returns after how many nanoseconds the same level is reported again. */
  private static long pause(String resource, Level level, boolean suspends) {
    if (suspends) return SUSPEND_NANOS;
    if (level == Level.DANGER) return DANGER_NANOS;
    return resource.equals("memory") ? HEAP_WARNING_NANOS : WARNING_NANOS;
  }

  private double percent(String name) {
    return settings.get(name).asDouble();
  }
}
