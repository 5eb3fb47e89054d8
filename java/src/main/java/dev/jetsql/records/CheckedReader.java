package dev.jetsql.records;

import dev.jetsql.common.Exceptions;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Reads the rows of a part of a file, with the columns of `FileColumns`. A row has the values of
 * all columns of the table, so that it does not depend on the query whether a line fits.
 */
abstract class CheckedReader extends AbstractFunction1<PartitionedFile, Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  final StructType columns;
  private final StructType required;
  private final Broadcast<SerializableConfiguration> conf;

  /**
   * @param columns the columns of the files, with those of `FileColumns`
   * @param required the columns of the rows to return
   */
  CheckedReader(SparkSession session, StructType columns, StructType required, Configuration conf) {
    this.columns =
        CharVarcharUtils.replaceCharVarcharWithStringInSchema(FileColumns.remove(columns));
    this.required = required;
    this.conf =
        session
            .sparkContext()
            .broadcast(
                new SerializableConfiguration(conf),
                ClassTag$.MODULE$.apply(SerializableConfiguration.class));
  }

  /** The rows of a part of a file, and its lines, or null if rows are not lines. */
  record Rows(Iterator<InternalRow> rows, FileLines lines) {}

  /** Returns the rows with the columns and `BROKEN`. */
  abstract Rows open(PartitionedFile file, Configuration conf) throws IOException;

  /** Returns the columns and `BROKEN`. */
  StructType parsed() {
    return columns.add(FileColumns.BROKEN, DataTypes.StringType);
  }

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    try {
      return new Selected(open(file, conf.value().value()));
    } catch (IOException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Returns whether a file can be read in parts whose lines can be counted. */
  static boolean isPlain(SparkSession session, Path path) {
    var codecs = new CompressionCodecFactory(session.sessionState().newHadoopConf());
    return codecs.getCodec(path) == null;
  }

  /** Closes a stream when the task ends. */
  static <T extends Closeable> T closing(T stream) {
    var task = TaskContext.get();
    if (task != null)
      task.addTaskCompletionListener(
          (TaskCompletionListener)
              context -> {
                try {
                  stream.close();
                } catch (IOException e) {
                  throw Exceptions.raise(e);
                }
              });
    return stream;
  }

  /** The rows with the required columns. */
  private final class Selected extends AbstractIterator<InternalRow> {
    private final Rows from;
    private final StructType parsed = parsed();
    private final int broken = columns.length();
    private final int[] places =
        Arrays.stream(required.fieldNames())
            .mapToInt(name -> name.equals(FileColumns.LINE) ? -1 : parsed.fieldIndex(name))
            .toArray();
    private final GenericInternalRow selected = new GenericInternalRow(required.length());

    Selected(Rows from) {
      this.from = from;
    }

    @Override
    public boolean hasNext() {
      return from.rows().hasNext();
    }

    @Override
    public InternalRow next() {
      var row = from.rows().next();
      for (int i = 0; i < places.length; i++) {
        int place = places[i];
        selected.update(
            i,
            place < 0
                ? (row.isNullAt(broken) ? null : line())
                : row.get(place, parsed.apply(place).dataType()));
      }
      return selected;
    }

    private Long line() {
      try {
        return from.lines() == null ? null : from.lines().number();
      } catch (IOException e) {
        throw Exceptions.raise(e);
      }
    }
  }
}
