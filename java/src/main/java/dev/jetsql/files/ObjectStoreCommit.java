package dev.jetsql.files;

import dev.jetsql.common.Exceptions;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.FileNameSpec;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Writes the files of a batch to their folder, which has no readers before the batch is complete.
 * Spark's own protocol renames each file twice, which are two copies in an object store. The files
 * of tasks that failed or ran twice are deleted at the end.
 */
@SuppressWarnings("deprecation") // Spark declares the older methods without a default
public final class ObjectStoreCommit extends FileCommitProtocol implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String jobId;
  private final String folder;
  private transient List<String> files = new ArrayList<>();

  /** Called by Spark: the id of the write, and its folder. */
  public ObjectStoreCommit(String jobId, String folder) {
    this.jobId = jobId;
    this.folder = folder;
  }

  @Override
  public void setupJob(JobContext job) {
    var path = new Path(folder);
    try {
      path.getFileSystem(job.getConfiguration()).mkdirs(path);
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  @Override
  public void commitJob(JobContext job, Seq<TaskCommitMessage> tasks) {
    Set<Path> written = new HashSet<>();
    for (TaskCommitMessage task : CollectionConverters.asJava(tasks)) {
      for (Object file : (List<?>) task.obj()) written.add(new Path((String) file));
    }
    var path = new Path(folder);
    try {
      var store = path.getFileSystem(job.getConfiguration());
      var all = store.listFiles(path, true);
      while (all.hasNext()) {
        Path file = all.next().getPath();
        if (!written.contains(file)) store.delete(file, false);
      }
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Leaves the files: the next attempt deletes the folder before it writes. */
  @Override
  public void abortJob(JobContext job) {}

  @Override
  public void setupTask(TaskAttemptContext task) {
    files = new ArrayList<>();
  }

  @Override
  public String newTaskTempFile(TaskAttemptContext task, Option<String> dir, FileNameSpec name) {
    var attempt = task.getTaskAttemptID();
    var part =
        String.format("part-%05d-%s-%d", attempt.getTaskID().getId(), jobId, attempt.getId());
    var parent = dir.isEmpty() ? new Path(folder) : new Path(folder, dir.get());
    var file = new Path(parent, name.prefix() + part + name.suffix()).toString();
    files.add(file);
    return file;
  }

  @Override
  public String newTaskTempFile(TaskAttemptContext task, Option<String> dir, String extension) {
    return newTaskTempFile(task, dir, new FileNameSpec("", extension));
  }

  @Override
  public String newTaskTempFileAbsPath(TaskAttemptContext task, String dir, String extension) {
    throw new UnsupportedOperationException("A batch writes to one folder.");
  }

  @Override
  public TaskCommitMessage commitTask(TaskAttemptContext task) {
    return new TaskCommitMessage(files);
  }

  /** Leaves the files, which `commitJob` deletes. */
  @Override
  public void abortTask(TaskAttemptContext task) {}
}
