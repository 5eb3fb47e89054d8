package dev.jetsql.watchdog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResourcesTest {
  private static final long SECOND = 1000L * 1000 * 1000;

  @Test
  void levelsRiseWithTheUse() {
    assertEquals(Level.NORMAL, Level.ofUse(138, 200, 70, 90));
    assertEquals(Level.WARNING, Level.ofUse(140, 200, 70, 90));
    assertEquals(Level.DANGER, Level.ofUse(180, 200, 70, 90));
    assertEquals(Level.NORMAL, Level.ofRest(100, 100, 10));
    assertEquals(Level.WARNING, Level.ofRest(99, 100, 10));
    assertEquals(Level.DANGER, Level.ofRest(9, 100, 10));
  }

  @Test
  void filesAreThoseOfTheFolderTheyAreIn(@TempDir Path folder) throws IOException {
    if (!Files.isDirectory(Path.of("/proc/self/fd"))) return;
    Path real = folder.toRealPath();
    Map<String, List<String>> folders =
        Map.of("a", List.of(real + "/a/"), "b", List.of(real + "/b/"));
    Files.createDirectory(real.resolve("a"));
    List<OutputStream> open = new ArrayList<>();
    try {
      for (String name : List.of("a/1", "a/2", "c")) {
        open.add(Files.newOutputStream(real.resolve(name)));
      }
      var counts =
          OpenFiles.byOwner(folders, List.of(real + "/c"), Map.of("b", 1L), Map.of("a", 1L));
      assertEquals(Map.of("a", 2L, "b", 1L), counts);
      assertTrue(OpenFiles.count() >= 3 && OpenFiles.limit() >= OpenFiles.count());
    } finally {
      for (OutputStream file : open) file.close();
    }
  }

  @Test
  void filesAreAssignedByWeight() {
    var counts = new HashMap<>(Map.of("a", 1L));
    OpenFiles.assign(100, Map.of("a", 3L, "b", 1L), counts);
    assertEquals(Map.of("a", 76L, "b", 25L), counts);
    OpenFiles.assign(100, Map.of(), counts);
    assertEquals(Map.of("a", 76L, "b", 25L), counts);
  }

  @Test
  void onlyWhatWasWrittenLatelyCounts(@TempDir Path folder) throws IOException {
    var disk = new DiskUsage(folder.resolve("not/there/yet"));
    assertTrue(disk.has(folder));
    disk.poll(0, Map.of("a", 100L));
    disk.poll(300 * SECOND, Map.of("a", 500L));
    assertEquals(Map.of("a", 900L, "b", 7L), disk.writtenLately(Map.of("a", 1000L, "b", 7L)));
    long free = disk.poll(700 * SECOND, Map.of("a", 1000L, "b", 7L));
    assertEquals(Map.of("a", 500L, "b", 7L), disk.writtenLately(Map.of("a", 1000L, "b", 7L)));
    assertTrue(disk.fallen(free - 10) >= 10);
    assertTrue(disk.total() >= free);
  }

  @Test
  void locationsOfStatesArePathsOrUris() {
    assertEquals("/x/y", StateStores.pathOf("file:///x/y"));
    assertEquals("/x/y", StateStores.pathOf("file:/x/y"));
    assertEquals("/x/y", StateStores.pathOf("/x/y"));
    assertEquals("s3a://b/y", StateStores.pathOf("s3a://b/y"));
  }
}
