package dev.jetsql.files;

import dev.jetsql.common.Json;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;

/**
 * Files wherever Hadoop's FileSystem reaches, one call across for each operation: a batch needs a dozen of them, and the
 * steps of one (a path, its file system, its status) would take longer to ask for than to do.
 */
public class Files {
  private final Configuration conf;

  public Files(Configuration conf) { this.conf = conf; }

  public boolean exists(String path) throws IOException { return of(path).exists(new Path(path)); }

  public void delete(String path) throws IOException { of(path).delete(new Path(path), true); }

  /** Move a file; the target's folder is made. Returns false when the file system would not. */
  public boolean rename(String source, String target) throws IOException {
    Path path = new Path(target);
    of(target).mkdirs(path.getParent());
    return of(target).rename(new Path(source), path);
  }

  public void touch(String path) throws IOException {
    of(path).setTimes(new Path(path), System.currentTimeMillis(), -1L);
  }

  /** The names in a folder as JSON, sorted; none when it is not there. */
  public String names(String folder) throws IOException {
    Path path = new Path(folder);
    FileStatus[] found = of(folder).exists(path) ? of(folder).listStatus(path) : new FileStatus[0];
    String[] names = new String[found.length];
    for (int i = 0; i < names.length; i++) names[i] = found[i].getPath().getName();
    Arrays.sort(names);
    return Json.MAPPER.writeValueAsString(names);
  }

  /** Milliseconds since the epoch. */
  public long modified(String path) throws IOException {
    return of(path).getFileStatus(new Path(path)).getModificationTime();
  }

  /** All files below a folder, relative to it, as JSON. One that goes away meanwhile may be among them or not. */
  public String filesBelow(String folder) throws IOException {
    ArrayNode found = Json.MAPPER.createArrayNode();
    walk(of(folder), new Path(folder), "", found);
    return Json.MAPPER.writeValueAsString(found);
  }

  // FileSystem.listFiles would ask for the permissions of each file, on a local disk with a process each.
  private static void walk(FileSystem files, Path folder, String prefix, ArrayNode found) throws IOException {
    FileStatus[] entries = files.listStatus(folder);
    for (int i = 0; i < entries.length; i++) {
      String name = prefix + entries[i].getPath().getName();
      if (entries[i].isDirectory()) walk(files, entries[i].getPath(), name + "/", found);
      else found.add(name);
    }
  }

  /** Copy files, given as JSON relative to both folders; how many bytes they are. Files that are there are replaced. */
  public long copy(String source, String target, String names) throws IOException {
    JsonNode wanted = Json.MAPPER.readTree(names);
    FileSystem from = of(source);
    FileSystem to = plain(target);
    long bytes = 0L;
    for (int i = 0; i < wanted.size(); i++) {
      String name = ((JsonNode) wanted.get(i)).asText();
      Path copied = new Path(target, name);
      IOUtils.copyBytes(from.open(new Path(source, name)), to.create(copied, true), conf, true);
      bytes += to.getFileStatus(copied).getLen();
    }
    return bytes;
  }

  /** The greatest number that is the name of a file in a folder; null without one, or without the folder. */
  public Long newest(String folder) throws IOException {
    Path path = new Path(folder);
    FileStatus[] found = of(folder).exists(path) ? of(folder).listStatus(path) : new FileStatus[0];
    long best = -1L;
    for (int i = 0; i < found.length; i++) {
      String name = found[i].getPath().getName();
      if (name.matches("\\d{1,18}")) best = Math.max(best, Long.parseLong(name));
    }
    return best < 0L ? null : Long.valueOf(best);
  }

  /** The text of a file that somebody else wrote; null when there is none. */
  public String readIfThere(String path) throws IOException {
    FileSystem files = plain(path);
    return files.exists(new Path(path)) ? text(files, new Path(path)) : null;
  }

  /** Without Hadoop's checksums: a file that was put back from a backup may have those of the one before it. */
  private FileSystem plain(String path) throws IOException {
    FileSystem files = of(path);
    return files instanceof LocalFileSystem ? ((LocalFileSystem) files).getRawFileSystem() : files;
  }

  private static String text(FileSystem files, Path path) throws IOException {
    FSDataInputStream stream = files.open(path);
    try {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } finally {
      stream.close();
    }
  }

  public String read(String path) throws IOException { return text(of(path), new Path(path)); }

  /** Write a whole file to the disk: it is there with all of the text, or as it was before. Returns false when it can't be. */
  public boolean write(String path, String text) throws IOException {
    String draft = path + ".draft";
    FSDataOutputStream stream = plain(path).create(new Path(draft), true);
    try {
      stream.write(text.getBytes(StandardCharsets.UTF_8));
      stream.hsync();
    } finally {
      stream.close();
    }
    delete(path);
    return rename(draft, path);
  }

  public String qualified(String path) throws IOException { return of(path).makeQualified(new Path(path)).toString(); }

  private FileSystem of(String path) throws IOException { return new Path(path).getFileSystem(conf); }
}
