package dev.jetsql.files;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** Hadoop's local file system, which sets the rights of a new file by a call where Hadoop starts a process, `chmod`. */
public class LocalFiles extends LocalFileSystem {
  public LocalFiles() { super(new Raw()); }

  static class Raw extends RawLocalFileSystem {
    public void setPermission(Path path, FsPermission rights) throws IOException {
      File file = pathToFile(path);
      if (rights.getStickyBit() || !file.toPath().getFileSystem().supportedFileAttributeViews().contains("posix")) {
        super.setPermission(path, rights);
        return;
      }
      String text = rights.getUserAction().SYMBOL + rights.getGroupAction().SYMBOL + rights.getOtherAction().SYMBOL;
      Files.setPosixFilePermissions(file.toPath(), PosixFilePermissions.fromString(text));
    }
  }
}
