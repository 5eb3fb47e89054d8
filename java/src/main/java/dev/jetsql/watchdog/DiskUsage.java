package dev.jetsql.watchdog;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/** The free space of a disk, and what has been written since a while. */
final class DiskUsage {
  private static final long WINDOW_NANOS = 600L * 1000 * 1000 * 1000;
  private static final long SAMPLE_NANOS = 5L * 1000 * 1000 * 1000;

  private final Path folder;
  private final FileStore store;
  private final Deque<Sample> samples = new ArrayDeque<>();

  private record Sample(long nanos, long free, Map<String, Long> written) {}

  /** Creates it for the disk of a folder, which may not exist yet. */
  DiskUsage(Path folder) throws IOException {
    this.folder = folder;
    this.store = storeOf(folder);
  }

  private static FileStore storeOf(Path folder) throws IOException {
    Path existing = folder;
    while (!Files.exists(existing) && existing.getParent() != null) existing = existing.getParent();
    return Files.getFileStore(existing);
  }

  Path folder() {
    return folder;
  }

  /** Returns whether a folder is on this disk. */
  boolean has(Path other) throws IOException {
    return storeOf(other).equals(store);
  }

  /** Returns the free bytes for this user, and remembers them. */
  long poll(long nanos, Map<String, Long> written) throws IOException {
    long free = store.getUsableSpace();
    Sample newest = samples.peekLast();
    if (newest == null || nanos - newest.nanos >= SAMPLE_NANOS) {
      samples.addLast(new Sample(nanos, free, written));
    }
    while (nanos - samples.getFirst().nanos > WINDOW_NANOS) samples.removeFirst();
    return free;
  }

  long total() throws IOException {
    return store.getTotalSpace();
  }

  /** Returns by how many bytes the free space has fallen in the last minutes. */
  long fallen(long free) {
    return Math.max(0, samples.stream().mapToLong(Sample::free).max().orElse(free) - free);
  }

  /** Returns what each owner has written in the last minutes. */
  Map<String, Long> writtenLately(Map<String, Long> written) {
    Map<String, Long> lately = new HashMap<>(written);
    Sample oldest = samples.peekFirst();
    if (oldest != null)
      oldest.written.forEach((owner, bytes) -> lately.merge(owner, -bytes, Long::sum));
    return lately;
  }
}
