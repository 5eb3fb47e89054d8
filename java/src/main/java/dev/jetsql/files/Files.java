package dev.jetsql.files;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.jetsql.common.Json;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFileSystem;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;
import org.apache.spark.sql.SparkSession;

/**
 * File operations on Hadoop's file systems, each in a single call from Python. A batch needs about
 * twelve of them. Separate calls for the path, its file system and its status would take longer
 * than the operations.
 */
public final class Files {
  private final Configuration conf;

  Files(Configuration conf) {
    this.conf = conf;
  }

  /** Returns the operations with the Hadoop configuration of a session. */
  public static Files of(SparkSession session) {
    return new Files(session.sparkContext().hadoopConfiguration());
  }

  /** Returns whether a path exists. */
  public boolean exists(String path) throws IOException {
    return fileSystem(path).exists(new Path(path));
  }

  /** Deletes a file, or a folder with its content. */
  public void delete(String path) throws IOException {
    fileSystem(path).delete(new Path(path), true);
  }

  /**
   * Moves a file and creates the target's folder. Returns false when the file system refuses. An
   * object store copies the file and deletes the source: if the target exists, an earlier call has
   * copied it.
   */
  public boolean rename(String source, String target) throws IOException {
    var path = new Path(target);
    FileSystem files = fileSystem(target);
    if (isObjectStore(files, path) && files.exists(path)) {
      return files.delete(new Path(source), false);
    }
    files.mkdirs(path.getParent());
    return files.rename(new Path(source), path);
  }

  /** Sets the modification time of a file to now. */
  public void touch(String path) throws IOException {
    fileSystem(path).setTimes(new Path(path), System.currentTimeMillis(), -1L);
  }

  /**
   * Returns the names in a folder as a sorted JSON array, which is empty when the folder does not
   * exist.
   */
  public String names(String folder) throws IOException {
    return Json.MAPPER.writeValueAsString(namesIn(folder));
  }

  private String[] namesIn(String folder) throws IOException {
    try {
      return Arrays.stream(fileSystem(folder).listStatus(new Path(folder)))
          .map(entry -> entry.getPath().getName())
          .sorted()
          .toArray(String[]::new);
    } catch (FileNotFoundException e) {
      return new String[0];
    }
  }

  /** Returns the modification time of a file in milliseconds since the epoch. */
  public long modified(String path) throws IOException {
    return fileSystem(path).getFileStatus(new Path(path)).getModificationTime();
  }

  /**
   * Returns all files below a folder, relative to it, as a JSON array. A file that is deleted at
   * the same time may be missing or not.
   */
  public String filesBelow(String folder) throws IOException {
    ArrayNode names = Json.MAPPER.createArrayNode();
    walk(fileSystem(folder), new Path(folder), "", names);
    return Json.MAPPER.writeValueAsString(names);
  }

  // FileSystem.listFiles would read the permissions of each file, on a local disk with a process
  // each.
  private static void walk(FileSystem files, Path folder, String prefix, ArrayNode names)
      throws IOException {
    for (FileStatus entry : files.listStatus(folder)) {
      String name = prefix + entry.getPath().getName();
      if (entry.isDirectory()) walk(files, entry.getPath(), name + "/", names);
      else names.add(name);
    }
  }

  /**
   * Copies files, replaces existing ones, and returns their size in bytes.
   *
   * @param names the names of the files relative to both folders, as a JSON array
   */
  public long copy(String source, String target, String names) throws IOException {
    FileSystem from = fileSystem(source);
    FileSystem to = withoutChecksums(target);
    long bytes = 0L;
    for (JsonNode name : Json.MAPPER.readTree(names)) {
      var copy = new Path(target, name.asText());
      IOUtils.copyBytes(
          from.open(new Path(source, name.asText())), to.create(copy, true), conf, true);
      bytes += to.getFileStatus(copy).getLen();
    }
    return bytes;
  }

  /** Returns a file that another program wrote, or null when it does not exist. */
  public byte[] readIfThere(String path) throws IOException {
    try {
      return content(withoutChecksums(path), new Path(path));
    } catch (FileNotFoundException e) {
      return null;
    }
  }

  /** Returns a file after its checksums are compared, if it has any. */
  public byte[] read(String path) throws IOException {
    return content(fileSystem(path), new Path(path));
  }

  /** Returns whether `read` compares checksums of a file. */
  public boolean hasChecksums(String path) throws IOException {
    return fileSystem(path) instanceof ChecksumFileSystem files
        && files.exists(files.getChecksumFile(new Path(path)));
  }

  private static byte[] content(FileSystem files, Path path) throws IOException {
    try (var stream = files.open(path)) {
      return stream.readAllBytes();
    }
  }

  /**
   * Writes a whole file to the disk: a crash never leaves a part of it under its name. Returns
   * false when the file system refuses.
   */
  public boolean write(String path, String text) throws IOException {
    FileSystem files = fileSystem(path);
    if (isObjectStore(files, new Path(path))) {
      writeObject(files.create(new Path(path), true), text);
      return true;
    }
    String draft = path + ".draft";
    writeDraft(draft, text);
    delete(path);
    return rename(draft, path);
  }

  /**
   * Writes a whole file unless it exists, and returns whether it did. Of two writers at the same
   * time, in any processes, one succeeds.
   */
  public boolean create(String path, String text) throws IOException {
    FileSystem files = fileSystem(path);
    if (isObjectStore(files, new Path(path))) {
      return createObject(files, new Path(path), text);
    }
    String draft = path + "." + UUID.randomUUID() + ".draft";
    try {
      writeDraft(draft, text);
      if (files.getScheme().equals("file")) { // its rename replaces a file
        return link(new Path(draft), new Path(path));
      }
      return !files.exists(new Path(path)) && files.rename(new Path(draft), new Path(path));
    } finally {
      delete(draft);
    }
  }

  private void writeDraft(String draft, String text) throws IOException {
    try (var stream = withoutChecksums(draft).create(new Path(draft), true)) {
      stream.write(text.getBytes(StandardCharsets.UTF_8));
      stream.hsync();
    }
  }

  private static boolean link(Path existing, Path target) throws IOException {
    try {
      java.nio.file.Files.createLink(local(target), local(existing));
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  private static java.nio.file.Path local(Path path) {
    return java.nio.file.Path.of(path.toUri().getPath());
  }

  /** Creates an object; a store with conditional writes compares when the stream is closed. */
  private static boolean createObject(FileSystem files, Path path, String text) throws IOException {
    try {
      writeObject(files.createFile(path).overwrite(false).recursive().build(), text);
      return true;
    } catch (IOException e) {
      if (files.exists(path)) {
        return false;
      }
      throw e;
    }
  }

  /** Writes an object, which replaces an older one when the stream is closed. */
  private static void writeObject(FSDataOutputStream stream, String text) throws IOException {
    try {
      stream.write(text.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      stream.abort();
      throw e;
    }
    stream.close();
  }

  /**
   * Returns whether a path is in an object store, which has no rename: not of a folder at least.
   */
  public boolean isObjectStore(String path) throws IOException {
    return isObjectStore(fileSystem(path), new Path(path));
  }

  private static boolean isObjectStore(FileSystem files, Path path) throws IOException {
    return files.hasPathCapability(path, CommonPathCapabilities.ABORTABLE_STREAM);
  }

  /** Returns a path as a URI with its scheme. */
  public String qualified(String path) throws IOException {
    return fileSystem(path).makeQualified(new Path(path)).toString();
  }

  private FileSystem fileSystem(String path) throws IOException {
    return new Path(path).getFileSystem(conf);
  }

  /**
   * Returns the file system without Hadoop's checksums: after a restore they may be those of an
   * older file.
   */
  private FileSystem withoutChecksums(String path) throws IOException {
    FileSystem files = fileSystem(path);
    return files instanceof LocalFileSystem local ? local.getRawFileSystem() : files;
  }
}
