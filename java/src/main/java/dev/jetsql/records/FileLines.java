package dev.jetsql.records;

import dev.jetsql.common.Exceptions;
import java.io.Closeable;
import java.io.IOException;
import java.util.NoSuchElementException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.input.LineRecordReader;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.hadoop.util.LineReader;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.collection.AbstractIterator;

/** Reads the lines of a part of a file, as Spark's text sources do, and knows their numbers. */
final class FileLines extends AbstractIterator<Text> implements Closeable {
  private final PartitionedFile file;
  private final byte[] separator;
  private final Configuration conf;
  private final LineRecordReader reader;
  private boolean isRead;
  private boolean hasLine;
  private long lines;
  private long firstOffset;
  private long linesBefore = -1;

  /**
   * @param separator the end of a line; null for the usual ones
   */
  FileLines(PartitionedFile file, byte[] separator, Configuration conf) throws IOException {
    this.file = file;
    this.separator = separator;
    this.conf = conf;
    var attempt = new TaskAttemptID(new TaskID(new JobID(), TaskType.MAP, 0), 0);
    reader = separator == null ? new LineRecordReader() : new LineRecordReader(separator);
    reader.initialize(
        new FileSplit(file.toPath(), file.start(), file.length(), new String[0]),
        new TaskAttemptContextImpl(conf, attempt));
  }

  @Override
  public boolean hasNext() {
    if (!isRead) {
      try {
        hasLine = reader.nextKeyValue();
      } catch (IOException e) {
        throw Exceptions.raise(e);
      }
      isRead = true;
    }
    return hasLine;
  }

  @Override
  public Text next() {
    if (!hasNext()) throw new NoSuchElementException();
    isRead = false;
    if (lines++ == 0) firstOffset = reader.getCurrentKey().get();
    return reader.getCurrentValue();
  }

  /** Returns the number in the file of the line that was returned last; the first is 1. */
  long number() throws IOException {
    if (linesBefore < 0) linesBefore = countBefore();
    return linesBefore + lines;
  }

  /** Returns how many lines the file has before the part. A part of a compressed file is all. */
  private long countBefore() throws IOException {
    if (file.start() == 0) return 0;
    var path = file.toPath();
    try (var in = path.getFileSystem(conf).open(path)) {
      var before =
          separator == null ? new LineReader(in, conf) : new LineReader(in, conf, separator);
      var line = new Text();
      long count = 0;
      for (long offset = 0; offset < firstOffset; count++) offset += before.readLine(line);
      return count;
    }
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
