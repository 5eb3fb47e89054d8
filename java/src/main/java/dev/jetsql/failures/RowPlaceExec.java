package dev.jetsql.failures;

import dev.jetsql.plans.PassThroughExec;
import dev.jetsql.plans.Plans;
import java.io.Serializable;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanExecBase;
import org.apache.spark.util.TaskFailureListener;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/** Passes the rows of its child on, and attaches a {@link RowPlace} to the error of its task. */
public final class RowPlaceExec extends PassThroughExec {
  private static final long serialVersionUID = 1L;

  /** Creates the operator. */
  public RowPlaceExec(SparkPlan child) {
    super(child);
  }

  /** Returns whether an operator reads a source. */
  static boolean isScan(SparkPlan plan) {
    return plan instanceof FileSourceScanExec || plan instanceof DataSourceV2ScanExecBase;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child()
        .execute()
        .mapPartitionsWithIndex(
            new Watch(messageRanges()), true, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /** Returns the messages that each task reads, in words; empty if it reads no single topic. */
  private String[] messageRanges() {
    List<DataSourceV2ScanExecBase> scans =
        Plans.list(child().collectLeaves()).stream()
            .filter(DataSourceV2ScanExecBase.class::isInstance)
            .map(DataSourceV2ScanExecBase.class::cast)
            .toList();
    if (scans.size() != 1) return new String[0];
    return Plans.list(scans.get(0).inputPartitions()).stream()
        .map(RowPlaceExec::messageRange)
        .toArray(String[]::new);
  }

  /** Returns the messages of a part of a scan; empty for a source other than Kafka. */
  private static String messageRange(Object partition) {
    try { // the connector's classes are private, and not always there
      Object range = partition.getClass().getMethod("offsetRange").invoke(partition);
      Object topic = range.getClass().getMethod("topicPartition").invoke(range);
      long from = (long) range.getClass().getMethod("fromOffset").invoke(range);
      long until = (long) range.getClass().getMethod("untilOffset").invoke(range);
      Object name = topic.getClass().getMethod("topic").invoke(topic);
      Object number = topic.getClass().getMethod("partition").invoke(topic);
      return String.format(
          "topic %s, partition %s, offsets %d to %d", name, number, from, until - 1);
    } catch (ReflectiveOperationException e) {
      return "";
    }
  }

  /** The function of each task. */
  private static final class Watch
      extends AbstractFunction2<Object, Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;
    private final String[] messages;

    private Watch(String[] messages) {
      this.messages = messages;
    }

    @Override
    public Iterator<InternalRow> apply(Object index, Iterator<InternalRow> rows) {
      int number = (int) index;
      TaskContext.get()
          .addTaskFailureListener(new Attach(number < messages.length ? messages[number] : ""));
      return rows;
    }
  }

  /** Attaches the place to the error. Of several in a task, Spark calls the last one first. */
  private static final class Attach implements TaskFailureListener {
    private final String messages;

    private Attach(String messages) {
      this.messages = messages;
    }

    @Override
    public void onTaskFailure(TaskContext context, Throwable error) {
      String file = InputFileBlockHolder.getInputFilePath().toString();
      String place = file.isEmpty() ? messages : new Path(URI.create(file)).toString();
      if (!place.isEmpty()
          && Arrays.stream(error.getSuppressed()).noneMatch(RowPlace.class::isInstance))
        error.addSuppressed(new RowPlace(place));
    }
  }

  @Override
  public String nodeName() {
    return "RowPlace";
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan newChild) {
    return new RowPlaceExec(newChild);
  }
}
