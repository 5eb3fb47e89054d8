package dev.jetsql.triggers;

import dev.jetsql.common.Reflection;
import java.io.IOException;
import java.nio.file.FileVisitOption;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource;

/**
 * The folder of a source of files on this machine. The time of a folder's last change moves when a
 * file appears in it, and Spark's source reads a file only once. So the times of the folder and of
 * the folders in it suffice, and no file is listed.
 */
final class FolderProbe implements SourceProbe {
  /**
   * The age from which a time is reliable: a file that appears immediately after another one may
   * leave the time as it is. File systems round it up to two seconds.
   */
  private static final long SETTLED_MILLIS = 3000;

  private static final int MOST_FOLDERS = 1000;

  private final Path root;
  private Map<Path, FileTime> times = Map.of();

  FolderProbe(Path root) {
    this.root = root;
  }

  /** Returns the probe of a source, or null if its files are elsewhere, or in several folders. */
  static FolderProbe of(FileStreamSource source) throws ReflectiveOperationException {
    var folder =
        (org.apache.hadoop.fs.Path)
            Reflection.field(FileStreamSource.class, "qualifiedBasePath").get(source);
    if (!"file".equals(folder.toUri().getScheme())) return null;
    var path = Path.of(folder.toUri().getPath());
    return Files.isDirectory(path) ? new FolderProbe(path) : null; // not so with a pattern
  }

  @Override
  public boolean mark() throws IOException {
    var found = new HashMap<Path, FileTime>();
    Files.walkFileTree(
        root,
        EnumSet.of(FileVisitOption.FOLLOW_LINKS),
        Integer.MAX_VALUE,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            found.put(folder, attributes.lastModifiedTime());
            return found.size() > MOST_FOLDERS
                ? FileVisitResult.TERMINATE
                : FileVisitResult.CONTINUE;
          }
        });
    times = found;
    long newest = 0;
    for (var time : found.values()) newest = Math.max(newest, time.to(TimeUnit.MILLISECONDS));
    return found.size() <= MOST_FOLDERS && newest + SETTLED_MILLIS < System.currentTimeMillis();
  }

  @Override
  public boolean mayHaveRows() throws IOException {
    for (var folder : times.entrySet())
      if (!Files.getLastModifiedTime(folder.getKey()).equals(folder.getValue())) return true;
    return false;
  }
}
