package dev.jetsql.files;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.Json;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilesTest {
  private final Files files = new Files(configuration());
  @TempDir private Path folder;

  private static Configuration configuration() {
    var conf = new Configuration();
    conf.set("fs.file.impl", LocalFiles.class.getName());
    return conf;
  }

  @BeforeEach
  void createFiles() throws IOException {
    assertTrue(files.write(at("numbers/7"), "seven"));
    assertTrue(files.write(at("numbers/12"), "twelve"));
    assertTrue(files.write(at("numbers/deep/13"), "thirteen"));
  }

  private String at(String name) {
    return folder.resolve(name).toUri().toString();
  }

  private static List<String> parsed(String json) throws IOException {
    List<String> names = new ArrayList<>();
    Json.MAPPER.readTree(json).forEach(name -> names.add(name.asText()));
    return names;
  }

  @Test
  void replacesAFileAsAWhole() throws IOException {
    assertTrue(files.write(at("numbers/7"), "VII, é"));
    assertEquals("VII, é", new String(files.read(at("numbers/7")), UTF_8));
    assertFalse(files.exists(at("numbers/7.draft")));
  }

  @Test
  void listsTheNamesInAFolder() throws IOException {
    assertEquals(List.of("12", "7", "deep"), parsed(files.names(at("numbers"))));
    assertEquals(List.of(), parsed(files.names(at("missing"))));
  }

  @Test
  void listsTheFilesBelowAFolder() throws IOException {
    assertEquals(
        List.of("12", "7", "deep/13"),
        parsed(files.filesBelow(at("numbers"))).stream().sorted().toList());
    assertThrows(FileNotFoundException.class, () -> files.filesBelow(at("missing")));
  }

  @Test
  void movesAFileIntoANewFolder() throws IOException {
    assertTrue(files.rename(at("numbers/7"), at("new/folder/seven")));
    assertEquals("seven", new String(files.read(at("new/folder/seven")), UTF_8));
    assertFalse(files.exists(at("numbers/7")));
  }

  @Test
  void copiesAndReplacesFiles() throws IOException {
    files.write(at("copy/7"), "another text");
    assertEquals(13, files.copy(at("numbers"), at("copy"), "[\"7\", \"deep/13\"]"));
    assertEquals(
        List.of("7", "deep/13"), parsed(files.filesBelow(at("copy"))).stream().sorted().toList());
    assertEquals("seven", new String(files.read(at("copy/7")), UTF_8));
  }

  @Test
  void deletesAFolderWithItsContent() throws IOException {
    files.delete(at("numbers"));
    assertFalse(files.exists(at("numbers")));
    files.delete(at("numbers"));
  }

  @Test
  void readsAFileThatMayBeMissing() throws IOException {
    assertEquals("seven", new String(files.readIfThere(at("numbers/7")), UTF_8));
    assertNull(files.readIfThere(at("missing")));
    assertThrows(FileNotFoundException.class, () -> files.read(at("missing")));
  }

  @Test
  void readsAFileWithTheChecksumOfAnOlderOne() throws IOException {
    java.nio.file.Files.writeString(folder.resolve("numbers/.7.crc"), "of another file");
    assertEquals("seven", new String(files.readIfThere(at("numbers/7")), UTF_8));
  }

  @Test
  void setsTheTimeOfAFileToNow() throws IOException {
    java.nio.file.Files.setLastModifiedTime(folder.resolve("numbers/7"), FileTime.fromMillis(1000));
    assertEquals(1000, files.modified(at("numbers/7")));
    long before = System.currentTimeMillis();
    files.touch(at("numbers/7"));
    assertTrue(files.modified(at("numbers/7")) >= before - 1000);
  }

  @Test
  void qualifiesAPathWithItsScheme() throws IOException {
    assertEquals("file:/some/folder", files.qualified("/some/folder"));
  }
}
