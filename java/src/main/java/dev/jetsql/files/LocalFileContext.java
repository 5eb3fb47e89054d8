package dev.jetsql.files;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;

/**
 * The local file system of JetSQL for Hadoop's FileContext, by which Spark reads and writes the
 * logs of its sinks of files, also those in the folder of a table.
 */
public final class LocalFileContext extends DelegateToFileSystem {
  /** Creates it. Hadoop calls the constructor by reflection. */
  public LocalFileContext(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(
        FsConstants.LOCAL_FS_URI,
        new LocalFiles(),
        conf,
        FsConstants.LOCAL_FS_URI.getScheme(),
        false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1; // it has no ports
  }

  @Override
  public boolean isValidName(String name) {
    return true; // the system refuses a wrong one
  }
}
