package dev.jetsql.files;

import dev.jetsql.rights.ConfinedFolders;
import java.io.File;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, with three differences. A symbolic link does not lead out of a folder
 * on which users have rights. A file is on the disk when its stream is closed, so that after a
 * power failure no file is empty that a later one relies on: a batch is committed after its rows.
 * And the permissions of a new file are set by a Java call instead of a `chmod` process.
 */
public final class LocalFiles extends LocalFileSystem {
  public LocalFiles() {
    super(new Raw());
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public File pathToFile(Path path) {
      var file = super.pathToFile(path);
      ConfinedFolders.check(file);
      return file;
    }

    @Override
    protected OutputStream createOutputStreamWithMode(
        Path path, boolean append, FsPermission permission) throws IOException {
      return new DurableStream(super.createOutputStreamWithMode(path, append, permission));
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      var file = pathToFile(path).toPath();
      if (permission.getStickyBit()
          || !file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
        super.setPermission(path, permission);
        return;
      }
      String symbols =
          permission.getUserAction().SYMBOL
              + permission.getGroupAction().SYMBOL
              + permission.getOtherAction().SYMBOL;
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(symbols));
    }
  }

  /** A stream of Hadoop's that is synchronized with the disk before it is closed. */
  private static final class DurableStream extends FilterOutputStream
      implements Syncable, StreamCapabilities {
    private final Syncable file;
    private final StreamCapabilities capabilities;
    private boolean closed;

    DurableStream(OutputStream stream) {
      super(stream);
      file = (Syncable) stream;
      capabilities = (StreamCapabilities) stream;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void hflush() throws IOException {
      file.hflush();
    }

    @Override
    public void hsync() throws IOException {
      file.hsync();
    }

    @Override
    public boolean hasCapability(String name) {
      return capabilities.hasCapability(name);
    }

    @Override
    public void close() throws IOException {
      if (closed) return;
      closed = true;
      try {
        file.hsync();
      } finally {
        out.close();
      }
    }
  }
}
