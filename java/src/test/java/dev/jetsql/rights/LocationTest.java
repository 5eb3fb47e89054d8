package dev.jetsql.rights;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.JetSqlException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LocationTest {
  @TempDir private Path folder;

  @AfterEach
  void publishNothing() {
    Rights.publish(null);
    EnginePlaces.publish("[]");
  }

  @Test
  void aFolderCoversWhatIsBelowIt() {
    var granted = Location.of("s3a://bucket/in");
    assertTrue(granted.covers(Location.of("s3a://bucket/in")));
    assertTrue(granted.covers(Location.of("s3a://bucket/in/")));
    assertTrue(granted.covers(Location.of("s3a://Bucket/in/a")));
    assertFalse(granted.covers(Location.of("s3a://bucket/In")));
    assertFalse(granted.covers(Location.of("s3a://bucket/inner")));
    assertFalse(granted.covers(Location.of("s3a://bucket")));
    assertFalse(granted.covers(Location.of("s3://bucket/in")));
    assertFalse(granted.covers(Location.of("s3a://bucket2/in")));
    assertTrue(Location.of("s3a://bucket").covers(granted));
    assertTrue(Location.of("file:///").covers(Location.of("file:/data")));
    assertEquals(Location.of("file:///data/in/"), Location.of("file:/data/in"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "s3a://bucket/in",
        "s3a://bucket",
        "file:/data",
        "file:///data/",
        "/data/a b",
        "/",
        "abfss://box@account/x"
      })
  void aLocationThatIsCertain(String text) {
    assertNull(Location.problem(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "data",
        "../data",
        "file:data",
        "file:",
        "//host/data",
        "/data/../x",
        "/data/..",
        "/data/./x",
        "/data//x",
        "/data/%2e%2e",
        "/data/*",
        "/data/{a,b}",
        "/data/[a]",
        "/data/a?",
        "/data/a\\b",
        "/data#x",
        "/data\n",
        "FILE:/data",
        "S3A://bucket",
        "s3://bucket/x",
        "s3a:/data",
        "s3a://user@bucket/x",
        "file://host/data",
        "har://file-x/data",
        "viewfs://x/data",
        "http://host/data"
      })
  void aLocationThatIsNot(String text) {
    assertNotNull(Location.problem(text));
  }

  @Test
  void aLinkDoesNotLeadOutOfAFolderOfUsers() throws IOException {
    var inside = Files.createDirectory(folder.resolve("inside"));
    var outside = Files.createDirectory(folder.resolve("outside"));
    Files.createFile(outside.resolve("pay"));
    Files.createSymbolicLink(inside.resolve("file"), outside.resolve("pay"));
    Files.createSymbolicLink(inside.resolve("dir"), outside);
    Files.createSymbolicLink(inside.resolve("gone"), outside.resolve("new"));
    Files.createSymbolicLink(inside.resolve("circle"), inside.resolve("circle"));
    Files.createSymbolicLink(folder.resolve("link"), inside);
    ConfinedFolders.check(inside.resolve("file").toFile());
    ConfinedFolders.publish(List.of(Location.of(inside.toUri()), Location.of("s3a://b/x")));
    for (var name : List.of("file", "dir", "dir/pay", "dir/new/x", "gone", "circle", "circle/x"))
      assertThrows(
          JetSqlException.class, () -> ConfinedFolders.check(inside.resolve(name).toFile()), name);
    ConfinedFolders.check(inside.toFile());
    ConfinedFolders.check(inside.resolve("new/x").toFile());
    ConfinedFolders.check(outside.resolve("pay").toFile());
    ConfinedFolders.publish(List.of(Location.of(folder.resolve("link").toUri())));
    ConfinedFolders.check(folder.resolve("link/new").toFile());
    assertThrows(
        JetSqlException.class, () -> ConfinedFolders.check(folder.resolve("link/file").toFile()));
  }

  @Test
  void aGrantOpensNoFileOfTheEngine() throws IOException {
    var home = Files.createDirectory(folder.resolve("home"));
    var data = Files.createDirectory(folder.resolve("data"));
    Files.createSymbolicLink(data.resolve("home"), home);
    EnginePlaces.publish("[\"" + home + "\", \"s3a://lake/home\"]");
    for (var place : List.of(home.resolve("x"), home, folder, Path.of("/"), Path.of("/proc/self")))
      assertTrue(EnginePlaces.touches(Location.of(place.toUri())), place.toString());
    assertTrue(EnginePlaces.touches(Location.of("s3a://lake")));
    assertTrue(EnginePlaces.touches(Location.of("s3a://lake/home/checkpoints")));
    assertFalse(EnginePlaces.touches(Location.of("s3a://lake/data")));
    assertFalse(EnginePlaces.touches(Location.of(data.toUri())));
    ConfinedFolders.publish(List.of(Location.of("file:///")));
    ConfinedFolders.check(home.resolve("engine.token").toFile()); // the engine itself reads it
    assertThrows(
        JetSqlException.class,
        () -> ConfinedFolders.check(data.resolve("home/engine.token").toFile()));
  }
}
