package dev.jetsql.rows;

import dev.jetsql.scheduling.CancelledJobGroups;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.api.python.PythonRDD$;
import org.apache.spark.rdd.PartitionPruningRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockResult;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Set;
import scala.reflect.ClassTag$;
import scala.runtime.BoxedUnit;

/**
 * The rows of a result as a stream to Python, in the pieces that Spark creates: Arrow batches or
 * pickled rows.
 *
 * <p>Spark's own methods keep a whole partition in the driver's memory, so that a few clients with
 * large results could crash the engine and all its jobs. In Spark 4.3 the scheduler also never
 * releases these jobs, because they run after their query has ended. Here a task writes its
 * partition to disk, in Spark's block store, and ends. The driver reads the partition as fast as
 * the client does. A slow client uses neither memory nor a core, and the disk contains one
 * partition of a result at a time.
 */
public final class RowStream extends AbstractIterator<Object> {
  private final RDD<byte[]> pieces;
  private final SparkContext context;
  private final BlockManager blocks;
  private final String group = "jetsql-rows-" + UUID.randomUUID();
  private int partition = -1;
  private Iterator<Object> current = Iterator.empty();

  private RowStream(RDD<byte[]> pieces) {
    this.pieces = pieces;
    this.context = pieces.sparkContext();
    this.blocks = context.env().blockManager();
  }

  /**
   * Serves the pieces on a local port and returns [port, secret, server, stream]. The server's
   * result reports to Python how the stream ended.
   */
  private static Object[] serve(RDD<byte[]> pieces) {
    var stored = CountedPieces.append(pieces).persist(StorageLevel.DISK_ONLY());
    var stream = new RowStream(stored);
    Object[] server = PythonRDD$.MODULE$.serveToStream("rows", stream::writeTo);
    return new Object[] {server[0], server[1], server[2], stream};
  }

  /** Serves the rows as Arrow batches. */
  public static Object[] arrowBatches(Dataset<Row> rows) {
    return serve(rows.toArrowBatchRdd());
  }

  /** Serves the rows as pickled rows. */
  public static Object[] pickled(Dataset<Row> rows) {
    return serve(rows.javaToPython().rdd());
  }

  /** Cancels the stream when Python stops reading. */
  public void cancel() {
    CancelledJobGroups.cancel(context, group);
  }

  @Override
  public boolean hasNext() {
    while (!current.hasNext()) {
      removeBlock();
      if (partition + 1 >= pieces.getNumPartitions()) return false;
      current = read(++partition);
    }
    return true;
  }

  @Override
  public Object next() {
    return current.next();
  }

  private Iterator<Object> read(int number) {
    var filter =
        new Set.Set1<Object>(number); // a Scala set is a predicate that executors can deserialize
    PartitionPruningRDD.create(pieces, filter).count();
    Option<BlockResult> block =
        blocks.get(block(number), ClassTag$.MODULE$.<byte[]>apply(byte[].class));
    if (block.isEmpty()) {
      throw new IllegalStateException(
          "The rows of partition " + number + " are missing on the disk.");
    }
    return CountedPieces.read(block.get().data(), number);
  }

  private void removeBlock() {
    if (partition >= 0) blocks.master().removeBlock(block(partition));
  }

  private RDDBlockId block(int number) {
    return new RDDBlockId(pieces.id(), number);
  }

  private BoxedUnit writeTo(OutputStream stream) {
    context.setJobGroup(group, "", true);
    try {
      var out = new DataOutputStream(stream);
      PythonRDD.writeIteratorToStream(this, out);
      out.flush();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } finally {
      close();
    }
    return BoxedUnit.UNIT;
  }

  private void close() {
    try {
      if (current.hasNext() && blocks.getStatus(block(partition)).isDefined()) {
        blocks.releaseLock(block(partition), Option.empty());
      }
    } finally {
      pieces.unpersist(false);
    }
  }
}
