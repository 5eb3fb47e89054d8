package dev.jetsql.files;

import dev.jetsql.common.Exceptions;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Checkpoints in an object store. Spark's own managers write a temporary file and rename it, which
 * is a copy and a deletion there, and does not exclude a second writer. Here a file appears when
 * its stream is closed, and an entry of a log only if there is none: the store refuses the request
 * of the second writer.
 */
public final class ObjectStoreCheckpoints extends FileSystemBasedCheckpointFileManager {
  private static final String ONLY_IF_NEW = "fs.option.create.conditional.overwrite";
  private static final String REFUSED = "org.apache.hadoop.fs.s3a.RemoteFileChangedException";

  public ObjectStoreCheckpoints(Path path, Configuration conf) {
    super(path, conf);
  }

  @Override
  public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(
      Path path, boolean overwrite) {
    try {
      var builder = fs().createFile(path).recursive().overwrite(overwrite);
      if (!overwrite && fs().hasPathCapability(path, ONLY_IF_NEW)) builder.must(ONLY_IF_NEW, true);
      return new WholeFile(path, builder.build());
    } catch (IOException e) {
      throw Exceptions.raise(e); // as the Scala method, which declares no exception
    }
  }

  private static final class WholeFile extends CheckpointFileManager.CancellableFSDataOutputStream {
    private final Path path;
    private final FSDataOutputStream stream;
    private boolean ended;

    WholeFile(Path path, FSDataOutputStream stream) {
      super(stream);
      this.path = path;
      this.stream = stream;
    }

    @Override
    public synchronized void close() throws IOException {
      if (ended) return;
      ended = true;
      try {
        stream.close();
      } catch (IOException e) {
        if (!e.getClass().getName().equals(REFUSED)) throw e;
        var exists = new FileAlreadyExistsException(path + " exists");
        exists.initCause(e);
        throw exists;
      }
    }

    @Override
    public synchronized void cancel() {
      if (ended) return;
      ended = true;
      stream.abort();
    }
  }
}
