package dev.jetsql.rows;

import dev.jetsql.stream.GivenUp;
import java.io.DataOutputStream;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Collections;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.api.python.PythonRDD$;
import org.apache.spark.rdd.PartitionPruningRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockResult;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.collection.immutable.Set;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Rows of a result on their way to Python, as pieces that Spark has made: batches of Arrow, or of pickled rows.
 *
 * Spark's own way takes each partition whole into the driver's memory, where a few clients with large results end the
 * engine, and with it all jobs; and in Spark 4.3 its scheduler keeps every such job for good, because they come after
 * the query has ended for it. Here a task leaves its partition on disk, in Spark's block store, and is done; from
 * there it is read as fast as the client reads. No slow client holds memory or a core, and disk holds one partition.
 */
public class Rows extends AbstractIterator {
  private final RDD pieces;
  private final SparkContext context;
  private final BlockManager blocks;
  private final String group = "jetsql-rows-" + UUID.randomUUID();
  private int partition = -1;
  private Iterator current = Iterator$.MODULE$.empty();

  private Rows(RDD pieces) {
    this.pieces = pieces;
    this.context = pieces.sparkContext();
    this.blocks = blocks(context);
  }

  /** Where Python reads the pieces: [port, secret, server, this]. Of the server it learns how the reading ended. */
  public static Object[] serve(RDD pieces) {
    Rows rows = new Rows(pieces.persist(StorageLevel.DISK_ONLY()));
    Object[] served = PythonRDD$.MODULE$.serveToStream("rows", new Serving(rows));
    return new Object[] {served[0], served[1], served[2], rows};
  }

  /** Python reads no more. */
  public void leave() { GivenUp.end(context, group); }

  public boolean hasNext() {
    while (!current.hasNext()) {
      forget();
      if (partition + 1 >= pieces.getNumPartitions()) return false;
      current = read(++partition);
    }
    return true;
  }

  public Object next() { return current.next(); }

  private Iterator read(int number) {
    Set wanted = new Set.Set1(Integer.valueOf(number)); // a test for numbers that tasks know
    PartitionPruningRDD.create(pieces, wanted).count();
    Option found = blocks.get(block(number), ClassTag$.MODULE$.apply(byte[].class));
    if (found.isEmpty()) throw new IllegalStateException("The rows of partition " + number + " are gone from the disk.");
    return ((BlockResult) found.get()).data();
  }

  private void forget() {
    if (partition >= 0) blocks.master().removeBlock(block(partition));
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

  private RDDBlockId block(int number) { return new RDDBlockId(pieces.id(), number); }

  /** By its name: the compiler would have to look at all methods of SparkEnv, and not all of their types are there. */
  private static BlockManager blocks(SparkContext context) {
    Object env = context.env();
    try {
      return (BlockManager) MethodHandles.publicLookup()
          .findVirtual(env.getClass(), "blockManager", MethodType.methodType(BlockManager.class))
          .invokeWithArguments(Collections.singletonList(env));
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  private static class Serving extends AbstractFunction1 {
    private final Rows rows;

    Serving(Rows rows) { this.rows = rows; }

    public Object apply(Object stream) {
      rows.context.setJobGroup(rows.group, "", true);
      try {
        DataOutputStream out = new DataOutputStream((OutputStream) stream);
        PythonRDD.writeIteratorToStream(rows, out);
        out.flush();
      } catch (java.io.IOException error) {
        throw new java.io.UncheckedIOException(error);
      } finally {
        rows.close();
      }
      return BoxedUnit.UNIT;
    }
  }
}
