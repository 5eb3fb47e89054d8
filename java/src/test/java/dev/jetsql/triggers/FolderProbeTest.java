package dev.jetsql.triggers;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FolderProbeTest {
  @TempDir private Path root;
  private FolderProbe probe;

  @BeforeEach
  void makeOldFolders() throws IOException {
    Files.createDirectory(root.resolve("day=1"));
    Files.createFile(root.resolve("day=1/1.json"));
    setAge(Duration.ofMinutes(1));
    probe = new FolderProbe(root);
  }

  private void setAge(Duration age) throws IOException {
    for (var folder : List.of(root.resolve("day=1"), root))
      Files.setLastModifiedTime(folder, FileTime.from(Instant.now().minus(age)));
  }

  @Test
  void aFolderWithoutChangesHasNoRows() throws IOException {
    assertTrue(probe.mark());
    assertFalse(probe.mayHaveRows());
  }

  @Test
  void newFilesAndFoldersMayBeRows() throws IOException {
    for (var name : List.of("2.json", "day=1/2.json")) {
      assertTrue(probe.mark());
      Files.createFile(root.resolve(name));
      assertTrue(probe.mayHaveRows(), name);
      setAge(Duration.ofMinutes(1));
    }
    assertTrue(probe.mark());
    Files.createDirectory(root.resolve("day=2"));
    assertTrue(probe.mayHaveRows());
  }

  @Test
  void timeOfAFreshChangeIsNotReliable() throws IOException {
    setAge(Duration.ofSeconds(2));
    assertFalse(probe.mark());
    setAge(Duration.ofHours(-1)); // the clock of another machine
    assertFalse(probe.mark());
    setAge(Duration.ofSeconds(5));
    assertTrue(probe.mark());
  }

  @Test
  void linkedFoldersAreSeen() throws IOException {
    var elsewhere = Files.createTempDirectory("elsewhere");
    Files.setLastModifiedTime(elsewhere, FileTime.from(Instant.now().minusSeconds(60)));
    Files.createSymbolicLink(root.resolve("day=3"), elsewhere);
    setAge(Duration.ofMinutes(1));
    assertTrue(probe.mark());
    var file = Files.createFile(elsewhere.resolve("1.json"));
    assertTrue(probe.mayHaveRows());
    Files.delete(file);
    Files.delete(elsewhere);
  }

  @Test
  void foldersOfManyPartitionsAreNotChecked() throws IOException {
    for (int day = 0; day < 1000; day++) Files.createDirectory(root.resolve("day=n" + day));
    setAge(Duration.ofMinutes(1));
    assertFalse(probe.mark());
  }

  @Test
  void aMissingFolderIsAnError() throws IOException {
    assertTrue(probe.mark());
    Files.delete(root.resolve("day=1/1.json"));
    Files.delete(root.resolve("day=1"));
    Files.delete(root);
    assertThrows(NoSuchFileException.class, probe::mayHaveRows);
    Files.createDirectory(root);
  }
}
