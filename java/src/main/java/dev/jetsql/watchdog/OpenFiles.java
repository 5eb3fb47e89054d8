package dev.jetsql.watchdog;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The open files of this process, and whose they are. */
final class OpenFiles {
  private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

  private OpenFiles() {}

  /** Returns the number of open files and connections; 0 where the system does not count them. */
  static long count() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
        ? system.getOpenFileDescriptorCount()
        : 0;
  }

  /** Returns the limit of `count`. */
  static long limit() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
        ? system.getMaxFileDescriptorCount()
        : 0;
  }

  /**
   * Returns the number of open files of each owner.
   *
   * @param folders the folders of each job: its checkpoint and its tables
   * @param temporary the folders of Spark's temporary files, whose names do not contain the job
   * @param tasks the number of running tasks of each owner, to which temporary files are assigned
   * @param states the number of loaded state stores of each owner
   */
  static Map<String, Long> byOwner(
      Map<String, List<String>> folders,
      List<String> temporary,
      Map<String, Long> tasks,
      Map<String, Long> states)
      throws IOException {
    Map<String, Long> counts = new HashMap<>();
    long ofTasks = 0;
    long ofStates = 0;
    for (String target : targets()) {
      String owner = owner(target, folders);
      if (owner != null) counts.merge(owner, 1L, Long::sum);
      else if (target.contains("/StateStoreId(")) ofStates++;
      else if (temporary.stream().anyMatch(target::startsWith)) ofTasks++;
    }
    assign(ofTasks, tasks, counts);
    assign(ofStates, states, counts);
    return counts;
  }

  /**
   * Returns the sizes of the open files of each job in bytes. Spark reports what a task has written
   * to files only when the task ends.
   *
   * @param folders the folders of each job: its checkpoint and its tables
   * @param disk the disk of the files that count
   */
  static Map<String, Long> bytesByOwner(Map<String, List<String>> folders, DiskUsage disk)
      throws IOException {
    Map<String, Long> bytes = new HashMap<>();
    for (String target : targets()) {
      String owner = owner(target, folders);
      if (owner == null) continue;
      Path file = Path.of(target);
      if (disk.has(file)) bytes.merge(owner, size(file), Long::sum);
    }
    return bytes;
  }

  /** Returns the paths of the open files; none where the system does not list them. */
  private static List<String> targets() throws IOException {
    List<String> targets = new ArrayList<>();
    if (!Files.isDirectory(DESCRIPTORS)) return targets;
    try (DirectoryStream<Path> all = Files.newDirectoryStream(DESCRIPTORS)) {
      for (Path descriptor : all) targets.add(target(descriptor));
    }
    return targets;
  }

  private static long size(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      return 0; // deleted meanwhile
    }
  }

  private static String target(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (IOException e) {
      return ""; // closed meanwhile
    }
  }

  private static String owner(String target, Map<String, List<String>> folders) {
    for (var entry : folders.entrySet()) {
      for (String folder : entry.getValue()) {
        if (target.startsWith(folder)) return entry.getKey();
      }
    }
    return null;
  }

  /** Divides a number of files by weights. */
  static void assign(long files, Map<String, Long> weights, Map<String, Long> counts) {
    long sum = weights.values().stream().mapToLong(Long::longValue).sum();
    if (sum == 0) return;
    weights.forEach((owner, weight) -> counts.merge(owner, files * weight / sum, Long::sum));
  }
}
