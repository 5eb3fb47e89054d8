package dev.jetsql.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LocalFilesTest {
  private final LocalFiles fileSystem = new LocalFiles();
  @TempDir private Path folder;

  @BeforeEach
  void open() throws IOException {
    fileSystem.initialize(URI.create("file:///"), new Configuration());
  }

  @AfterEach
  void close() throws IOException {
    fileSystem.close();
  }

  private static org.apache.hadoop.fs.Path hadoop(Path path) {
    return new org.apache.hadoop.fs.Path(path.toUri());
  }

  @ParameterizedTest
  @ValueSource(strings = {"rw-------", "rwxr-x--x", "r--r--r--"})
  void setsThePermissionsOfAFile(String symbols) throws IOException {
    Path file = Files.writeString(folder.resolve("a b"), "text");
    fileSystem.setPermission(hadoop(file), FsPermission.valueOf("-" + symbols));
    assertEquals(symbols, PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
  }

  @Test
  void setsTheStickyBitOfAFolder() throws IOException {
    fileSystem.setPermission(hadoop(folder), new FsPermission((short) 01777));
    assertEquals(01777, (int) Files.getAttribute(folder, "unix:mode") & 07777);
  }

  @Test
  void synchronizesAFileAlsoBeforeItsEnd() throws IOException {
    Path file = folder.resolve("log");
    try (var stream = fileSystem.getRawFileSystem().create(hadoop(file))) {
      stream.write('a');
      assertTrue(stream.hasCapability(StreamCapabilities.HSYNC));
      stream.hsync();
      assertEquals("a", Files.readString(file));
      stream.write('b');
    }
    assertEquals("ab", Files.readString(file));
  }

  @Test
  void endsAStreamOnce() throws IOException {
    var stream = fileSystem.getRawFileSystem().create(hadoop(folder.resolve("log")));
    stream.close();
    stream.close();
    assertEquals(0, Files.size(folder.resolve("log")));
  }
}
